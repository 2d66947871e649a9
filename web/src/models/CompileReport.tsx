import { Accordion, List, Stack, Text, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useDeferredValue, useState } from "react";

import { reportQuery } from "../api/queries";
import type { FusionChoice, Report, ReportKernel } from "../api/report";
import { Loaded } from "../parts/Page";
import { bytes, count } from "../parts/words";

/** What the compiler decided for each kernel, and why; what it fused, and what it did not. */
export default function CompileReport({ digest }: { digest: string }) {
  const query = useQuery(reportQuery(digest));
  return <Loaded query={query}>{(report) => <ReportView report={report} />}</Loaded>;
}

function ReportView({ report }: { report: Report }) {
  const [search, setSearch] = useState("");
  const wanted = useDeferredValue(search.toLowerCase());
  const kernels = report.kernels.filter((one) =>
    `${one.name} ${one.ops.join(" ")}`.toLowerCase().includes(wanted),
  );
  return (
    <Stack gap="sm">
      <Text size="sm">
        Level {report.opt_level} for {report.target} on {report.cpu}. {bytes(report.memory.workspace_bytes)}{" "}
        of workspace and {bytes(report.memory.weights_bytes)} of weights in {report.memory.space}.
      </Text>
      <Text size="sm" c="dimmed" className="breaking">
        Passes: {report.passes.join(", ") || "none"}
      </Text>
      {report.warnings.map((warning) => (
        <Text key={warning} size="sm" className="warn">
          {warning}
        </Text>
      ))}
      <TextInput
        label={`Find among ${report.kernels.length} kernels`}
        value={search}
        onChange={(event) => setSearch(event.currentTarget.value)}
      />
      <Accordion variant="contained" multiple order={3}>
        {kernels.map((kernel) => (
          <Accordion.Item key={kernel.name} value={kernel.name}>
            <Accordion.Control>
              <Text size="sm" fw={600} className="breaking">
                {kernel.name}
              </Text>
              <Text size="xs" c="dimmed" className="breaking">
                {kernel.ops.join(" + ")} · {count(kernel.flops)}FLOP · {bytes(kernel.bytes)}
              </Text>
            </Accordion.Control>
            <Accordion.Panel>
              <Decisions kernel={kernel} />
            </Accordion.Panel>
          </Accordion.Item>
        ))}
      </Accordion>
      <Fusion title="Not fused" choices={report.fusion.filter((choice) => !choice.fused)} />
      <Fusion title="Fused" choices={report.fusion.filter((choice) => choice.fused)} />
    </Stack>
  );
}

/** Each pair that could have been one kernel, with the gain or loss that decided. */
function Fusion({ title, choices }: { title: string; choices: readonly FusionChoice[] }) {
  if (choices.length === 0) return null;
  return (
    <details>
      <summary>
        {title}: {choices.length}
      </summary>
      <List size="sm" mt="xs">
        {choices.map((choice) => (
          <List.Item key={`${choice.producer} ${choice.consumer}`} className="breaking">
            {choice.producer} → {choice.consumer}: {choice.reason}
          </List.Item>
        ))}
      </List>
    </details>
  );
}

function Decisions({ kernel }: { kernel: ReportKernel }) {
  const { loops, sums, vectorize_dim, lanes, unrolled_dim, packed } = kernel.schedule;
  const facts: readonly (readonly [string, string])[] = [
    ["loops", loops.join("; ")],
    ["sums", sums.join("; ")],
    ["vectors", vectorize_dim ? `${vectorize_dim}, ${lanes} lanes` : ""],
    ["unrolled", unrolled_dim ?? ""],
    [
      "packed",
      Object.entries(packed)
        .map(([name, dims]) => `${name} [${dims.join(", ")}]`)
        .join("; "),
    ],
    [
      "asked",
      Object.entries(kernel.asked)
        .map(([name, value]) => `${name} = ${JSON.stringify(value)}`)
        .join("; "),
    ],
  ];
  return (
    <>
      {facts
        .filter(([, value]) => value)
        .map(([name, value]) => (
          <Text key={name} size="sm" className="mono breaking" style={{ whiteSpace: "pre-wrap" }}>
            {name.padEnd(9)}
            {value}
          </Text>
        ))}
      <List size="sm" mt="xs" data-testid="reasons">
        {kernel.reasons.map((reason) => (
          <List.Item key={reason}>{reason}</List.Item>
        ))}
      </List>
    </>
  );
}
