import { Button, useComputedColorScheme, useMantineColorScheme } from "@mantine/core";

/** Light or dark; until it is used, as the system has it. */
export function ColorScheme() {
  const { setColorScheme } = useMantineColorScheme();
  const other = useComputedColorScheme("light") === "light" ? "dark" : "light";
  return (
    <Button variant="default" size="xs" onClick={() => setColorScheme(other)}>
      {other === "dark" ? "Dark colours" : "Light colours"}
    </Button>
  );
}
