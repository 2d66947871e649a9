import { Anchor, Button, Group, Loader, NativeSelect, Stack, Table, Tabs, Text } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import { Link, useNavigate, useParams, useSearchParams } from "react-router";

import { answer, api, type ModelVersion, type TensorInfo } from "../api/client";
import { artifactsQuery, deploymentsQuery, programQuery, versionsQuery } from "../api/queries";
import { Empty } from "../parts/Empty";
import { Failure } from "../parts/Failure";
import { Loaded, Page } from "../parts/Page";
import { Source } from "../parts/Source";
import { bytes, moment, shape } from "../parts/words";
import { CompileForm } from "./CompileForm";

const Graph = lazy(() => import("./Graph"));

export function Component() {
  const { model = "", version } = useParams();
  const query = useQuery(versionsQuery(model));
  return (
    <Loaded query={query}>
      {(versions) => {
        const shown = version ? versions.find((one) => one.version === Number(version)) : versions[0];
        return shown ? (
          <VersionView key={shown.version} shown={shown} versions={versions} />
        ) : (
          <Empty says={`${model} has no version ${version}.`} />
        );
      }}
    </Loaded>
  );
}

function VersionView({ shown, versions }: { shown: ModelVersion; versions: readonly ModelVersion[] }) {
  const navigate = useNavigate();
  const [search, setSearch] = useSearchParams();
  const actions = (
    <>
      <NativeSelect
        aria-label="Version"
        value={String(shown.version)}
        data={versions.map((one) => ({ value: String(one.version), label: `version ${one.version}` }))}
        onChange={(event) => void navigate(`/models/${shown.model}/${event.currentTarget.value}`)}
      />
      <Button component={Link} to={`/playground?model=${shown.model}`} variant="default">
        Playground
      </Button>
    </>
  );
  return (
    <Page title={`${shown.model} version ${shown.version}`} actions={actions}>
      <Stack>
        <Text size="sm" c="dimmed">
          module <span className="mono">{shown.module}</span>, program{" "}
          <span className="mono">{shown.program_digest.slice(0, 12)}</span>, uploaded{" "}
          {moment(shown.created_at)}
        </Text>
        <Signature label="in" tensors={shown.inputs} />
        <Signature label="out" tensors={shown.outputs} />
        <CompileForm version={shown} />
        <Deploy version={shown} />
        <Tabs
          value={search.get("tab") ?? "graph"}
          onChange={(tab) => setSearch(tab ? { tab } : {}, { replace: true })}
          keepMounted={false}
        >
          <Tabs.List>
            <Tabs.Tab value="graph">Graph</Tabs.Tab>
            <Tabs.Tab value="text">Text</Tabs.Tab>
            <Tabs.Tab value="artifacts">Artifacts</Tabs.Tab>
            <Tabs.Tab value="files">Files</Tabs.Tab>
          </Tabs.List>
          <Tabs.Panel value="graph" pt="sm">
            <ProgramView version={shown} as="graph" />
          </Tabs.Panel>
          <Tabs.Panel value="text" pt="sm">
            <ProgramView version={shown} as="text" line={Number(search.get("line")) || null} />
          </Tabs.Panel>
          <Tabs.Panel value="artifacts" pt="sm">
            <Artifacts version={shown} />
          </Tabs.Panel>
          <Tabs.Panel value="files" pt="sm">
            <Files version={shown} />
          </Tabs.Panel>
        </Tabs>
      </Stack>
    </Page>
  );
}

function Signature({ label, tensors }: { label: string; tensors: readonly TensorInfo[] }) {
  return (
    <Text size="sm" className="mono breaking">
      {label} {tensors.map((one) => `${one.name}: ${one.dtype}${shape(one.shape)}`).join(", ")}
    </Text>
  );
}

function ProgramView({
  version,
  as,
  line,
}: {
  version: ModelVersion;
  as: "graph" | "text";
  line?: number | null;
}) {
  const query = useQuery(programQuery(version.model, version.version));
  return (
    <Loaded query={query}>
      {(program) =>
        as === "text" ? (
          <Source text={program.text} line={line} label={`Text of ${program.file}`} />
        ) : (
          <Suspense fallback={<Loader aria-label="Loading" />}>
            <Graph program={program} />
          </Suspense>
        )
      }
    </Loaded>
  );
}

/** Whether nodes hold this model, and the button that asks them to. */
function Deploy({ version }: { version: ModelVersion }) {
  const client = useQueryClient();
  const { data: deployments } = useQuery(deploymentsQuery);
  const artifacts = useQuery(artifactsQuery(version.model, version.version));
  const targets = [...new Set((artifacts.data ?? []).map((one) => one.target))];
  const deployed = deployments?.find((one) => one.model === version.model && one.version === version.version);
  const deploy = useMutation({
    mutationFn: () => {
      const body = {
        model: version.model,
        version: version.version,
        targets,
        replicas: 0,
        node_selector: {},
      };
      return answer(api.PUT("/v1/deployments/{name}", { params: { path: { name: version.model } }, body }));
    },
    onSuccess: () => client.invalidateQueries({ queryKey: ["deployments"] }),
  });
  const missing = targets.filter((target) => !deployed?.targets.includes(target));
  return (
    <>
      <Group gap="sm">
        <Text size="sm" data-testid="deployed">
          {deployed ? `Deployed for ${deployed.targets.join(", ")}.` : "Not deployed."}
        </Text>
        {missing.length > 0 && (
          <Button size="xs" variant="default" loading={deploy.isPending} onClick={() => deploy.mutate()}>
            Deploy {targets.join(", ")}
          </Button>
        )}
      </Group>
      {deploy.error && <Failure error={deploy.error} />}
    </>
  );
}

function Artifacts({ version }: { version: ModelVersion }) {
  const query = useQuery(artifactsQuery(version.model, version.version));
  return (
    <Loaded query={query}>
      {(artifacts) =>
        artifacts.length === 0 ? (
          <Empty says="Not compiled yet." />
        ) : (
          <Table.ScrollContainer minWidth={420} scrollAreaProps={{ viewportProps: { tabIndex: 0 } }}>
            <Table aria-label="Artifacts">
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>Artifact</Table.Th>
                  <Table.Th>Target</Table.Th>
                  <Table.Th>CPU</Table.Th>
                  <Table.Th>Size</Table.Th>
                  <Table.Th>Download</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {artifacts.map((one) => (
                  <Table.Tr key={one.digest}>
                    <Table.Td>
                      <Anchor component={Link} to={`/artifacts/${one.digest}`} className="mono">
                        {one.digest.slice(0, 12)}
                      </Anchor>
                    </Table.Td>
                    <Table.Td>{one.target}</Table.Td>
                    <Table.Td>{one.cpu}</Table.Td>
                    <Table.Td>{bytes(one.bytes)}</Table.Td>
                    <Table.Td>
                      <Anchor
                        href={`/v1/artifacts/${one.digest}/bundle`}
                        download={`${version.model}-${one.target}.zip`}
                      >
                        zip
                      </Anchor>
                    </Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          </Table.ScrollContainer>
        )
      }
    </Loaded>
  );
}

function Files({ version }: { version: ModelVersion }) {
  return version.source.map((file) => (
    <Text key={file.name} size="sm" className="breaking">
      <Anchor href={`/v1/sources/${file.digest}`} download={file.name} className="mono">
        {file.name}
      </Anchor>{" "}
      {bytes(file.bytes)}
    </Text>
  ));
}
