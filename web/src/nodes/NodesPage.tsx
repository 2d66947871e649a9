import { Card, Group, Progress, SimpleGrid, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import type { NodeView } from "../api/client";
import { nodesQuery } from "../api/queries";
import { Empty } from "../parts/Empty";
import { Loaded, Page } from "../parts/Page";
import { State } from "../parts/State";
import { bytes, percent, seconds } from "../parts/words";

export function Component() {
  const query = useQuery(nodesQuery);
  return (
    <Page title="Nodes">
      <Loaded query={query}>
        {({ nodes = [] }) =>
          nodes.length === 0 ? (
            <Empty says="No node has registered.">
              <Text size="sm">A node joins by itself once it reaches the Global State Service.</Text>
            </Empty>
          ) : (
            <SimpleGrid cols={{ base: 1, md: 2 }}>
              {nodes.map((node) => (
                <NodeCard key={node.record.id} node={node} />
              ))}
            </SimpleGrid>
          )
        }
      </Loaded>
    </Page>
  );
}

function NodeCard({ node: { record, liveness, age_ms } }: { node: NodeView }) {
  const level = record.status;
  const loaded = level?.loaded ?? [];
  return (
    <Card withBorder radius="md" component="section" aria-label={`Node ${record.id}`}>
      <Group justify="space-between">
        <Title order={2} size="h5" className="breaking">
          {record.id}
        </Title>
        <span>
          <State state={liveness} />
          {level?.draining ? " draining" : ""}
          {record.left ? " left" : ""}
        </span>
      </Group>
      <Text size="sm" c="dimmed" className="breaking">
        {record.capabilities.cpu} at <span className="mono">{record.addresses.http}</span>, heard{" "}
        {seconds(age_ms / 1e3)} ago
      </Text>
      <Stack gap={4} mt="xs">
        {!record.devices?.length && (
          <Text size="sm">No device: it passes requests on to those who have one.</Text>
        )}
        {(record.devices ?? []).map((device) => (
          <Text size="sm" key={`${device.kind}:${device.index}`} className="breaking">
            <span className="mono">
              {device.kind}:{device.index}
            </span>{" "}
            {device.name}, {device.cores} cores, runs {(device.targets ?? []).join(", ") || "nothing"}
          </Text>
        ))}
        {level ? (
          <>
            <Level label="Busy" share={level.utilisation} says={percent(level.utilisation)} />
            {level.memory_bytes > 0 && (
              <Level
                label="Memory"
                share={level.memory_used_bytes / level.memory_bytes}
                says={`${bytes(level.memory_used_bytes)} of ${bytes(level.memory_bytes)}`}
              />
            )}
            <Text size="sm">
              {level.running} running, {level.queue_depth} waiting
            </Text>
          </>
        ) : (
          <Text size="sm">It has not reported its level yet.</Text>
        )}
        {loaded.length > 0 && (
          <Text size="sm" fw={600} mt="xs">
            Loaded
          </Text>
        )}
        {loaded.map((one) => (
          <Text size="sm" key={`${one.model} ${one.version} ${one.target}`} className="breaking">
            {one.model} version {one.version} for {one.target} on {one.device}
            {one.run_us > 0 ? `, ${seconds(one.run_us / 1e6)} a run` : ""}
          </Text>
        ))}
      </Stack>
    </Card>
  );
}

function Level({ label, share, says }: { label: string; share: number; says: string }) {
  return (
    <div>
      <Group justify="space-between">
        <Text size="sm">{label}</Text>
        <Text size="sm">{says}</Text>
      </Group>
      <Progress.Root size="sm">
        <Progress.Section value={Math.round(Math.min(1, share) * 100)} aria-label={label} />
      </Progress.Root>
    </div>
  );
}
