import { Anchor, Button, Card, Group, Progress, Stack, Text, Title } from "@mantine/core";
import { Link } from "react-router";

import type { InferResponse, Profile, Tensor } from "../api/client";
import { percent, seconds, shape } from "../parts/words";
import { elements, largest } from "./tensors";

const SHOWN = 5;
const PARTS = [
  ["queue", "queue_ns"],
  ["transfer", "transfer_ns"],
  ["input", "compute_input_ns"],
  ["compute", "compute_ns"],
  ["output", "compute_output_ns"],
  ["profile", "profile_ns"],
] as const;

/** The outputs, where they were computed and why there, and where the time went. */
export function Answer({ response, profile }: { response: InferResponse; profile: Profile | null }) {
  const { timings, decision } = response;
  return (
    <Stack aria-live="polite" data-testid="answer">
      {profile && (
        <Group>
          <Button component={Link} to={`/profiles/${profile.id}`}>
            Open the profile
          </Button>
        </Group>
      )}
      {Object.entries(response.outputs).map(([name, tensor]) => (
        <Output key={name} name={name} tensor={tensor} />
      ))}
      <Card withBorder radius="md">
        <Title order={2} size="h5">
          Where and how long
        </Title>
        <Text size="sm">
          {response.device} of node {response.node}, version {response.version} for {response.target}.{" "}
          {decision.reason}
        </Text>
        <Text size="sm">
          {seconds(timings.total_ns / 1e9)} in total:{" "}
          {PARTS.filter(([, key]) => timings[key])
            .map(([name, key]) => `${name} ${seconds(timings[key] / 1e9)}`)
            .join(", ")}
          .
        </Text>
      </Card>
    </Stack>
  );
}

function Output({ name, tensor }: { name: string; tensor: Tensor }) {
  const values = elements(tensor);
  const text = JSON.stringify(tensor);
  return (
    <Card withBorder radius="md" component="section" aria-label={`Output ${name}`}>
      <Group justify="space-between">
        <Title order={2} size="h5" className="mono breaking">
          {name}: {tensor.dtype}
          {shape(tensor.shape)}
        </Title>
        <Anchor
          href={`data:application/json,${encodeURIComponent(text)}`}
          download={`${name}.json`}
          size="sm"
        >
          JSON
        </Anchor>
      </Group>
      {values === null && <Text size="sm">The page cannot show {tensor.dtype}; the JSON has it.</Text>}
      {values && values.length <= 16 && (
        <Text size="sm" className="mono breaking">
          [{values.map((value) => +value.toPrecision(6)).join(", ")}]
        </Text>
      )}
      {values && values.length > 1 && <Largest values={values} />}
    </Card>
  );
}

function Largest({ values }: { values: readonly number[] }) {
  const top = largest(values, SHOWN);
  const share = values.every((value) => value >= 0 && value <= 1.0001);
  const peak = Math.max(...top.map((one) => Math.abs(one.value))) || 1;
  return top.map(({ place, value }) => (
    <div key={place}>
      <Group justify="space-between">
        <Text size="sm">index {place}</Text>
        <Text size="sm" className="mono">
          {share ? percent(value) : value.toPrecision(5)}
        </Text>
      </Group>
      <Progress.Root size="sm">
        <Progress.Section
          value={Math.round((Math.abs(value) / (share ? 1 : peak)) * 1000) / 10}
          aria-label={`index ${place}`}
        />
      </Progress.Root>
    </div>
  ));
}
