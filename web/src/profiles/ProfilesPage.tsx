import { Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import { profilesQuery } from "../api/queries";
import { Empty } from "../parts/Empty";
import { Loaded, Page } from "../parts/Page";
import { To } from "../parts/To";
import { bytes, moment } from "../parts/words";

export function Component() {
  const query = useQuery(profilesQuery);
  return (
    <Page title="Profiles">
      <Loaded query={query}>
        {(profiles) =>
          profiles.length === 0 ? (
            <Empty says="No profile yet.">
              <Text size="sm">
                Run a model in the <To path="/playground">playground</To> with “Profile” ticked, or post the
                file of <span className="mono">rlx infer --profile</span> to /v1/profiles.
              </Text>
            </Empty>
          ) : (
            <Table.ScrollContainer minWidth={420} scrollAreaProps={{ viewportProps: { tabIndex: 0 } }}>
              <Table aria-label="Profiles">
                <Table.Thead>
                  <Table.Tr>
                    <Table.Th>Profile</Table.Th>
                    <Table.Th>Note</Table.Th>
                    <Table.Th>Taken</Table.Th>
                    <Table.Th>Size</Table.Th>
                  </Table.Tr>
                </Table.Thead>
                <Table.Tbody>
                  {profiles.map((one) => (
                    <Table.Tr key={one.id}>
                      <Table.Td>
                        <To path={`/profiles/${one.id}`}>{one.model ?? one.id}</To>
                      </Table.Td>
                      <Table.Td>{one.note}</Table.Td>
                      <Table.Td>{moment(one.created_at)}</Table.Td>
                      <Table.Td>{bytes(one.bytes)}</Table.Td>
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
