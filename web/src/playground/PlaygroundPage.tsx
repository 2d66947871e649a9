import { Button, Checkbox, Grid, Group, NativeSelect, Stack, Text } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useSearchParams } from "react-router";

import type { ModelVersion } from "../api/client";
import { deploymentsQuery, modelsQuery, versionsQuery } from "../api/queries";
import { Empty } from "../parts/Empty";
import { Failure } from "../parts/Failure";
import { Loaded, Page } from "../parts/Page";
import { To } from "../parts/To";
import { Answer } from "./Answer";
import { ask, PROFILED_RUNS, profiled, type Question } from "./ask";
import { InputField } from "./InputField";
import type { Given } from "./tensors";

export function Component() {
  const models = useQuery(modelsQuery);
  const [search, setSearch] = useSearchParams();
  return (
    <Page title="Playground">
      <Loaded query={models}>
        {(all) => {
          const model = all.find((one) => one.name === search.get("model")) ?? all[0];
          if (!model) {
            return (
              <Empty says="No model yet.">
                <Text size="sm">
                  <To path="/models">Upload one</To>, compile it and deploy it.
                </Text>
              </Empty>
            );
          }
          return (
            <Stack>
              <NativeSelect
                label="Model"
                data={all.map((one) => one.name)}
                value={model.name}
                onChange={(event) => setSearch({ model: event.currentTarget.value })}
                maw={360}
              />
              <Versions key={model.name} model={model.name} />
            </Stack>
          );
        }}
      </Loaded>
    </Page>
  );
}

function Versions({ model }: { model: string }) {
  const versions = useQuery(versionsQuery(model));
  const deployments = useQuery(deploymentsQuery);
  return (
    <Loaded query={versions}>
      {(all) => (
        <Loaded query={deployments}>
          {(held) => {
            const deployment = held.find((one) => one.model === model);
            const version = all.find((one) => one.version === deployment?.version) ?? all[0];
            if (!version) return <Empty says={`${model} has no version.`} />;
            if (!deployment) {
              return (
                <Empty says={`No node holds ${model} yet.`}>
                  <Text size="sm">
                    Compile and deploy it on <To path={`/models/${model}`}>its page</To>.
                  </Text>
                </Empty>
              );
            }
            return <Form key={version.version} version={version} targets={deployment.targets} />;
          }}
        </Loaded>
      )}
    </Loaded>
  );
}

function Form({ version, targets }: { version: ModelVersion; targets: readonly string[] }) {
  const [given, setGiven] = useState<Readonly<Record<string, Given | null>>>({});
  const [target, setTarget] = useState("");
  const [profiling, setProfiling] = useState(false);
  const client = useQueryClient();
  const run = useMutation({
    mutationFn: async () => {
      const question: Question = {
        model: version.model,
        version: version.version,
        ...(target ? { target } : {}),
        inputs: given,
      };
      return profiling ? profiled(question) : { response: await ask(question), profile: null };
    },
    onSuccess: () => client.invalidateQueries({ queryKey: ["profiles"] }),
  });
  const missing = version.inputs.filter((input) => !given[input.name]).map((input) => input.name);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    run.mutate();
  };
  return (
    <Grid gap="xl">
      <Grid.Col span={{ base: 12, lg: 6 }}>
        <Stack component="form" onSubmit={submit}>
          {version.inputs.map((input) => (
            <InputField
              key={input.name}
              input={input}
              onGiven={(tensor) => setGiven((known) => ({ ...known, [input.name]: tensor }))}
            />
          ))}
          <Group align="end">
            <NativeSelect
              label="Target"
              value={target}
              onChange={(event) => setTarget(event.currentTarget.value)}
              data={[{ value: "", label: "any" }, ...targets]}
            />
            <Checkbox
              label={`Profile, in ${PROFILED_RUNS} runs`}
              checked={profiling}
              onChange={(event) => setProfiling(event.currentTarget.checked)}
              my={8}
            />
            <Button type="submit" disabled={missing.length > 0} loading={run.isPending}>
              Run
            </Button>
          </Group>
          {missing.length > 0 && (
            <Text size="sm" c="dimmed">
              {missing.join(", ")} {missing.length > 1 ? "have" : "has"} no value yet.
            </Text>
          )}
        </Stack>
      </Grid.Col>
      <Grid.Col span={{ base: 12, lg: 6 }}>
        {run.error && <Failure error={run.error} />}
        {run.data && <Answer response={run.data.response} profile={run.data.profile} />}
      </Grid.Col>
    </Grid>
  );
}
