import { Group, Loader, Title } from "@mantine/core";
import type { UseQueryResult } from "@tanstack/react-query";
import { type ReactNode, useEffect } from "react";

import { Failure } from "./Failure";

/** A page: its title, what can be done on it, and its content. */
export function Page({
  title,
  actions,
  children,
}: {
  title: string;
  actions?: ReactNode;
  children: ReactNode;
}) {
  useEffect(() => {
    document.title = `${title} · RLX`;
  }, [title]);
  return (
    <>
      <Group justify="space-between" mb="md" gap="sm">
        <Title order={1} size="h3" className="breaking">
          {title}
        </Title>
        {actions && <Group gap="xs">{actions}</Group>}
      </Group>
      {children}
    </>
  );
}

/** What a query gives, or that it is on its way, or why it failed. What was read before stays while it is read again. */
export function Loaded<T>({
  query,
  children,
}: {
  query: UseQueryResult<T>;
  children: (data: T) => ReactNode;
}) {
  if (query.data !== undefined) return <>{children(query.data)}</>;
  if (query.isError) return <Failure error={query.error} retry={query.refetch} />;
  return <Loader aria-label="Loading" />;
}
