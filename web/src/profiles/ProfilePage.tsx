import { Button, Card, Loader, NativeSelect, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useMemo, useState } from "react";
import { useParams } from "react-router";

import type { Profile } from "../api/client";
import { profileQuery, traceQuery } from "../api/queries";
import { Empty } from "../parts/Empty";
import { Loaded, Page } from "../parts/Page";
import { percent, seconds } from "../parts/words";
import { KernelTable } from "./KernelTable";
import { Timeline } from "./Timeline";
import { bound, networkBound, read, type Trace } from "./trace";

const Roofline = lazy(() => import("./Roofline"));

export function Component() {
  const { profile: id = "" } = useParams();
  const profile = useQuery(profileQuery(id));
  const content = useQuery(traceQuery(id));
  return (
    <Loaded query={profile}>
      {(about) => <Loaded query={content}>{(data) => <ProfileView profile={about} content={data} />}</Loaded>}
    </Loaded>
  );
}

function ProfileView({ profile, content }: { profile: Profile; content: unknown }) {
  const trace = useMemo(() => read(content), [content]);
  const [chosen, setChosen] = useState<string | null>(null);
  const slowest = trace.kernels[0];
  const [number, setNumber] = useState(trace.fastest.number);
  const run = trace.runs.find((one) => one.number === number) ?? trace.runs[0];
  const runs = trace.runs.length > 1 && (
    <NativeSelect
      aria-label="Run"
      size="xs"
      value={String(number)}
      onChange={(event) => setNumber(Number(event.currentTarget.value))}
      data={trace.runs.map((one) => ({
        value: String(one.number),
        label: `run ${one.number + 1}, ${seconds(one.duration / 1e6)}`,
      }))}
    />
  );
  const download = (
    <Button
      component="a"
      href={`/v1/profiles/${profile.id}/trace`}
      download={`${profile.id}.json`}
      variant="default"
    >
      Download the trace
    </Button>
  );
  return (
    <Page title={`Profile of ${profile.model ?? profile.id}`} actions={download}>
      {slowest ? (
        <Stack>
          <Summary trace={trace} note={profile.note ?? ""} />
          <Timeline key={number} trace={trace} run={run} runs={runs} chosen={chosen} onChoose={setChosen} />
          <KernelTable trace={trace} chosen={chosen} onChoose={setChosen} />
          <section aria-label="Roofline">
            <Title order={2} size="h5" mb="xs">
              Roofline
            </Title>
            {trace.peak ? (
              <Suspense fallback={<Loader aria-label="Loading" />}>
                <Roofline kernels={trace.kernels} peak={trace.peak} chosen={chosen} onChoose={setChosen} />
              </Suspense>
            ) : (
              <Text size="sm">
                This profile does not say what the machine can give, so there is no roof to draw.
              </Text>
            )}
          </section>
        </Stack>
      ) : (
        <Empty says="This profile holds no kernels." />
      )}
    </Page>
  );
}

function Summary({ trace, note }: { trace: Trace; note: string }) {
  const [slowest] = trace.kernels;
  if (!slowest) return null;
  const kind = bound(slowest, trace.peak);
  return (
    <Card withBorder radius="md">
      <Text data-testid="slowest" className="breaking">
        Slowest kernel: <strong>{slowest.name}</strong>, {seconds(slowest.time / 1e6)},{" "}
        {percent(slowest.share)} of all kernels.
        {kind.ofRoof !== null &&
          ` It is ${kind.name}, at ${percent(kind.ofRoof)} of what ${kind.roof} allows.`}
      </Text>
      <Text size="sm">{kind.advice}</Text>
      {networkBound(trace) && (
        <Text size="sm" className="warn">
          The call as a whole is network-bound: most of it was on the way while devices idled. Move the caller
          nearer, or send more in one call.
        </Text>
      )}
      <Text size="sm" c="dimmed">
        {[
          note,
          `${trace.kernels.length} kernels`,
          `${trace.threads.length} threads`,
          `the fastest of ${trace.runs.length} runs took ${seconds(trace.fastest.duration / 1e6)}`,
        ]
          .filter(Boolean)
          .join(", ")}
      </Text>
    </Card>
  );
}
