import { Anchor } from "@mantine/core";
import type { ReactNode } from "react";
import { Link } from "react-router";

/** A link to another page, in the size of the text around it. */
export function To({ path, children }: { path: string; children: ReactNode }) {
  return (
    <Anchor component={Link} to={path} inherit underline="always" className="breaking">
      {children}
    </Anchor>
  );
}
