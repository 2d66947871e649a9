import { Button, Checkbox, Group, NativeSelect, Stack, Text } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { Link, useSearchParams } from "react-router";

import { type InferResponse, type ModelVersion, type Profile, send } from "../api/client";
import { deploymentsQuery, modelsQuery, versionsQuery } from "../api/queries";
import { Empty } from "../parts/Empty";
import { Failure } from "../parts/Failure";
import { Loaded, Page } from "../parts/Page";
import { Answer } from "./Answer";
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
                  <Link to="/models">Upload one</Link>, compile it and deploy it.
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
                    Compile and deploy it on <Link to={`/models/${model}`}>its page</Link>.
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

interface Ran {
  readonly response: InferResponse;
  readonly profile: Profile | null;
}

function Form({ version, targets }: { version: ModelVersion; targets: readonly string[] }) {
  const [given, setGiven] = useState<Readonly<Record<string, Given | null>>>({});
  const [target, setTarget] = useState("");
  const [profiled, setProfiled] = useState(false);
  const client = useQueryClient();
  const run = useMutation({
    mutationFn: async (): Promise<Ran> => {
      const body = {
        model: version.model,
        version: version.version,
        ...(target ? { target } : {}),
        inputs: given,
        profile: profiled,
      };
      const headers = { "Content-Type": "application/json" };
      const asked = await send("/v1/infer", { method: "POST", body: JSON.stringify(body), headers });
      const response = (await asked.json()) as InferResponse;
      return { response, profile: response.profile ? await keep(response) : null };
    },
    onSuccess: () => client.invalidateQueries({ queryKey: ["profiles"] }),
  });
  const ready = version.inputs.every((input) => given[input.name]);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    run.mutate();
  };
  return (
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
          label="Profile this run"
          checked={profiled}
          onChange={(event) => setProfiled(event.currentTarget.checked)}
          my={8}
        />
        <Button type="submit" disabled={!ready} loading={run.isPending}>
          Run
        </Button>
      </Group>
      {run.error && <Failure error={run.error} />}
      {run.data && <Answer response={run.data.response} profile={run.data.profile} />}
    </Stack>
  );
}

/** Keeps the trace on the server, with the timings of the whole call beside it. */
async function keep(response: InferResponse): Promise<Profile> {
  const { profile, timings, node, device } = response;
  const other = { ...(profile?.otherData as object), timings, node, device };
  const note = `playground, version ${response.version} for ${response.target} on ${node}`;
  const query = new URLSearchParams({ model: response.model, note });
  const body = JSON.stringify({ ...profile, otherData: other });
  const headers = { "Content-Type": "application/json" };
  return (await (await send(`/v1/profiles?${query}`, { method: "POST", body, headers })).json()) as Profile;
}
