import { Paper, Text } from "@mantine/core";
import type { ReactNode } from "react";

/** Nothing is here, and how something gets here. */
export function Empty({ says, children }: { says: string; children?: ReactNode }) {
  return (
    <Paper withBorder p="lg" radius="md" data-testid="empty">
      <Text fw={600}>{says}</Text>
      {children}
    </Paper>
  );
}
