import { Table, Title } from "@mantine/core";
import { useState } from "react";

import { percent, seconds } from "../parts/words";
import { bound, type Kernel, type Trace } from "./trace";

interface Column {
  readonly title: string;
  readonly value: (kernel: Kernel, trace: Trace) => number | string;
  readonly text: (kernel: Kernel, trace: Trace) => string;
}

const COLUMNS: readonly Column[] = [
  { title: "Time", value: (k) => k.time, text: (k) => seconds(k.time / 1e6) },
  { title: "Share", value: (k) => k.share, text: (k) => percent(k.share) },
  { title: "GFLOP/s", value: (k) => k.gflops, text: (k) => k.gflops.toFixed(1) },
  { title: "GB/s", value: (k) => k.gbytes, text: (k) => k.gbytes.toFixed(1) },
  { title: "FLOP/B", value: (k) => k.intensity, text: (k) => k.intensity.toFixed(1) },
  { title: "Balance", value: (k) => k.balance, text: (k) => percent(k.balance) },
  {
    title: "Of roof",
    value: (k, t) => bound(k, t.peak).ofRoof ?? 0,
    text: (k, t) => {
      const { ofRoof } = bound(k, t.peak);
      return ofRoof === null ? "" : percent(ofRoof);
    },
  },
  { title: "Bottleneck", value: (k, t) => bound(k, t.peak).name, text: (k, t) => bound(k, t.peak).name },
];

/** The share is drawn behind its figure, as a bar. */
const share = (title: string, kernel: Kernel) =>
  title === "Share" ? { backgroundSize: `${(100 * kernel.share).toFixed(1)}% 100%` } : undefined;

/** Every kernel with its figures, the slowest first until another column is asked for. */
export function KernelTable(props: {
  trace: Trace;
  chosen: string | null;
  onChoose: (kernel: string | null) => void;
}) {
  const [order, setOrder] = useState<{ title: string; up: boolean }>({ title: "Time", up: false });
  const by =
    COLUMNS.find((column) => column.title === order.title)?.value ?? ((kernel: Kernel) => kernel.time);
  const kernels = [...props.trace.kernels].sort((a, b) => {
    const [x, y] = [by(a, props.trace), by(b, props.trace)];
    return (x < y ? -1 : x > y ? 1 : 0) * (order.up ? 1 : -1);
  });
  return (
    <section aria-label="Kernels">
      <Title order={2} size="h5" mb="xs">
        Kernels
      </Title>
      <div
        className="scroll"
        style={{ maxHeight: "60dvh" }}
        role="region"
        tabIndex={0}
        aria-label="Table of kernels"
      >
        <Table stickyHeader highlightOnHover data-testid="kernels">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Kernel</Table.Th>
              {COLUMNS.map(({ title }) => (
                <Table.Th
                  key={title}
                  aria-sort={title === order.title ? (order.up ? "ascending" : "descending") : "none"}
                >
                  <button
                    type="button"
                    className="plain"
                    onClick={() => setOrder({ title, up: title === order.title && !order.up })}
                  >
                    {title}
                    {title === order.title ? (order.up ? " ↑" : " ↓") : ""}
                  </button>
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {kernels.map((kernel) => {
              const at = kernel.name === props.chosen;
              return (
                <Table.Tr key={kernel.name} bg={at ? "var(--mark)" : undefined}>
                  <Table.Td miw={160}>
                    <button
                      type="button"
                      className="plain breaking"
                      aria-pressed={at}
                      onClick={() => props.onChoose(at ? null : kernel.name)}
                    >
                      {kernel.name}
                    </button>
                    <div className="ops breaking">{kernel.ops.join(" + ")}</div>
                  </Table.Td>
                  {COLUMNS.map(({ title, text }) => (
                    <Table.Td
                      key={title}
                      className={title === "Share" ? "share" : "figure"}
                      style={share(title, kernel)}
                    >
                      {text(kernel, props.trace)}
                    </Table.Td>
                  ))}
                </Table.Tr>
              );
            })}
          </Table.Tbody>
        </Table>
      </div>
    </section>
  );
}
