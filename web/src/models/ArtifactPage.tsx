import { Anchor, Button, Stack, Table, Tabs, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useParams } from "react-router";

import type { Artifact } from "../api/client";
import { artifactQuery, filePath, fileTextQuery, manifestQuery } from "../api/queries";
import { Loaded, Page } from "../parts/Page";
import { Source } from "../parts/Source";
import { bytes } from "../parts/words";
import CompileReport from "./CompileReport";

const READABLE = /\.(rlx|ll|c|h|cl|ptx|json)$/;
const SHOWN_BYTES = 16 << 20;

export function Component() {
  const { digest = "" } = useParams();
  const query = useQuery(artifactQuery(digest));
  return <Loaded query={query}>{(artifact) => <ArtifactView artifact={artifact} />}</Loaded>;
}

function ArtifactView({ artifact }: { artifact: Artifact }) {
  const digest = artifact.digest;
  const download = (
    <Button
      component="a"
      href={`/v1/artifacts/${digest}/bundle`}
      download={`${digest.slice(0, 12)}.zip`}
      variant="default"
    >
      Download {bytes(artifact.bytes)}
    </Button>
  );
  return (
    <Page title={`Artifact ${digest.slice(0, 12)}`} actions={download}>
      <Stack>
        <Text size="sm">
          {artifact.target} on {artifact.cpu}, compiler {artifact.compiler_version}
        </Text>
        <Text size="sm" className="mono breaking" c="dimmed">
          {digest}
        </Text>
        <Tabs defaultValue="report" keepMounted={false}>
          <Tabs.List>
            <Tabs.Tab value="report">Compile report</Tabs.Tab>
            <Tabs.Tab value="files">Files</Tabs.Tab>
          </Tabs.List>
          <Tabs.Panel value="report" pt="sm">
            <CompileReport digest={digest} />
          </Tabs.Panel>
          <Tabs.Panel value="files" pt="sm">
            <Files digest={digest} />
          </Tabs.Panel>
        </Tabs>
      </Stack>
    </Page>
  );
}

function Files({ digest }: { digest: string }) {
  const query = useQuery(manifestQuery(digest));
  const [shown, setShown] = useState<string | null>(null);
  return (
    <Loaded query={query}>
      {(manifest) => (
        <Stack gap="xs">
          <Table aria-label="Files" maw={560}>
            <Table.Tbody>
              {Object.entries(manifest.files).map(([name, file]) => (
                <Table.Tr key={name}>
                  <Table.Td>
                    <Anchor href={filePath(digest, name)} download={name} className="mono breaking" inherit>
                      {name}
                    </Anchor>
                  </Table.Td>
                  <Table.Td className="figure">{bytes(file.bytes)}</Table.Td>
                  <Table.Td>
                    {READABLE.test(name) && file.bytes <= SHOWN_BYTES && (
                      <Button
                        size="compact-xs"
                        variant="default"
                        onClick={() => setShown(name)}
                        aria-pressed={shown === name}
                      >
                        Read<span className="skip"> {name}</span>
                      </Button>
                    )}
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
          {shown && <FileText digest={digest} file={shown} />}
        </Stack>
      )}
    </Loaded>
  );
}

function FileText({ digest, file }: { digest: string; file: string }) {
  const query = useQuery(fileTextQuery(digest, file));
  return <Loaded query={query}>{(text) => <Source text={text} label={file} />}</Loaded>;
}
