import { Button, Modal, Table, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";

import type { Deployment } from "../api/client";
import { deploymentsQuery, modelsQuery } from "../api/queries";
import { Empty } from "../parts/Empty";
import { Loaded, Page } from "../parts/Page";
import { To } from "../parts/To";
import { moment } from "../parts/words";
import { Upload } from "./Upload";

export function ModelsPage() {
  const query = useQuery(modelsQuery);
  const deployments = useQuery(deploymentsQuery);
  const deployed = new Map(deployments.data?.map((one) => [one.model, one]));
  const [opened, { open, close }] = useDisclosure();
  return (
    <Page title="Models" actions={<Button onClick={open}>Upload a model</Button>}>
      <Modal
        opened={opened}
        onClose={close}
        title="Upload a model"
        size="lg"
        closeButtonProps={{ "aria-label": "Close" }}
      >
        <Upload />
      </Modal>
      <Loaded query={query}>
        {(models) =>
          models.length === 0 ? (
            <Empty says="No model yet.">
              <Text size="sm">Upload a .rlx file, with the weights that it names, or a .rlxz.</Text>
            </Empty>
          ) : (
            <Table.ScrollContainer minWidth={320} scrollAreaProps={{ viewportProps: { tabIndex: 0 } }}>
              <Table aria-label="Models">
                <Table.Thead>
                  <Table.Tr>
                    <Table.Th>Name</Table.Th>
                    <Table.Th>Latest version</Table.Th>
                    <Table.Th>Deployed</Table.Th>
                    <Table.Th>Since</Table.Th>
                  </Table.Tr>
                </Table.Thead>
                <Table.Tbody>
                  {models.map((model) => (
                    <Table.Tr key={model.name}>
                      <Table.Td>
                        <To path={`/models/${model.name}`}>{model.name}</To>
                      </Table.Td>
                      <Table.Td>{model.latest_version}</Table.Td>
                      <Table.Td>
                        <Deployed deployment={deployed.get(model.name)} />
                      </Table.Td>
                      <Table.Td>{moment(model.created_at)}</Table.Td>
                    </Table.Tr>
                  ))}
                </Table.Tbody>
              </Table>
            </Table.ScrollContainer>
          )
        }
      </Loaded>
    </Page>
  );
}

function Deployed({ deployment }: { deployment?: Deployment }) {
  return deployment ? `version ${deployment.version} for ${deployment.targets.join(", ")}` : "";
}
