import { AppShell, Burger, Group, NavLink, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { Suspense, useEffect } from "react";
import { NavLink as RouterLink, Outlet, useLocation } from "react-router";

import { answer, api, ApiProblem } from "../api/client";
import { ColorScheme } from "./ColorScheme";
import { SignIn } from "./SignIn";

const PAGES = [
  ["/jobs", "Jobs"],
  ["/models", "Models"],
  ["/nodes", "Nodes"],
  ["/playground", "Playground"],
  ["/profiles", "Profiles"],
] as const;

/** Header, navigation and the page. Without a session where one is needed, the way to get it instead. */
export function Shell() {
  const [opened, { toggle, close }] = useDisclosure();
  const { pathname } = useLocation();
  useEffect(close, [close, pathname]);
  const door = useQuery({
    queryKey: ["door"],
    queryFn: async () => {
      await answer(api.GET("/v1/models", { params: { query: { limit: 1 } } }));
      return true;
    },
    refetchInterval: 15_000,
    retry: false,
  });
  const signedOut = door.error instanceof ApiProblem && door.error.signedOut;
  const away = door.isError && !signedOut;
  return (
    <AppShell
      header={{ height: 52 }}
      navbar={{ width: 180, breakpoint: "sm", collapsed: { mobile: !opened } }}
      padding="md"
    >
      <a className="skip" href="#content" onClick={focusContent}>
        Skip to the content
      </a>
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap">
            <Burger opened={opened} onClick={toggle} hiddenFrom="sm" size="sm" aria-label="Navigation" />
            <Text fw={700} style={{ letterSpacing: "0.05em" }}>
              RLX
            </Text>
            <Text size="sm" role="status" className={away ? "bad" : "neutral"}>
              {away ? "not connected" : door.data ? "connected" : signedOut ? "signed out" : "connecting …"}
            </Text>
          </Group>
          <ColorScheme />
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" aria-label="Pages">
        {PAGES.map(([path, label]) => (
          <NavLink
            key={path}
            component={RouterLink}
            to={path}
            label={label}
            active={pathname.startsWith(path)}
            variant="subtle"
            className={pathname.startsWith(path) ? "here" : undefined}
          />
        ))}
      </AppShell.Navbar>
      <AppShell.Main>
        <div id="content" tabIndex={-1} style={{ outline: "none" }}>
          {signedOut ? (
            <SignIn />
          ) : (
            <Suspense>
              <Outlet />
            </Suspense>
          )}
        </div>
      </AppShell.Main>
    </AppShell>
  );
}

/** The address is the page's own, so the link must not change it. */
function focusContent(event: { preventDefault: () => void }) {
  event.preventDefault();
  document.getElementById("content")?.focus();
}
