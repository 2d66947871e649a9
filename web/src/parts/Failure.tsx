import { Alert, Button, Group, Text } from "@mantine/core";
import { useRouteError } from "react-router";

import { ApiProblem, type Problem } from "../api/client";
import { To } from "./To";

/** A long line of the source scrolls within; it does not widen what is around it. */
const NARROW = { body: { minWidth: 0 } };

/** What is wrong with what, where in the text, and what to do. */
export function ProblemView({ problem, openAt }: { problem: Problem; openAt?: string }) {
  return (
    <Alert
      variant="outline"
      color="red"
      title={<Title problem={problem} />}
      role="alert"
      styles={NARROW}
      my="xs"
    >
      {problem.rendered ? (
        <div className="scroll" role="region" tabIndex={0} aria-label="What is wrong, and where">
          <pre data-testid="caret" style={{ padding: "0.5rem 0.75rem" }}>
            {problem.rendered}
          </pre>
        </div>
      ) : (
        <Text size="sm" className="breaking">
          {problem.detail}
        </Text>
      )}
      {problem.help && !problem.rendered && (
        <Text size="sm" mt="xs">
          {problem.help}
        </Text>
      )}
      {problem.violations?.map((one) => (
        <Text key={one.field} size="sm" mt="xs">
          <span className="mono">{one.field}</span>: {one.message}
        </Text>
      ))}
      {problem.caused_by && (
        <Text size="sm" mt="xs" c="dimmed" className="breaking">
          caused by {problem.caused_by}
        </Text>
      )}
      {openAt && (
        <Text size="sm" mt="xs">
          <To path={openAt}>Open line {problem.line} of the source</To>
        </Text>
      )}
    </Alert>
  );
}

function Title({ problem }: { problem: Problem }) {
  return (
    <span className="bad">
      {[problem.code, problem.title].filter(Boolean).join(" ") || "Something went wrong"}
    </span>
  );
}

/** An error of a query, with a way to try again. */
export function Failure({ error, retry }: { error: unknown; retry?: () => unknown }) {
  const problem = error instanceof ApiProblem ? error.problem : null;
  return (
    <>
      {problem ? (
        <ProblemView problem={problem} />
      ) : (
        <Alert
          variant="outline"
          color="red"
          role="alert"
          title={<span className="bad">Something went wrong</span>}
        >
          {error instanceof Error ? error.message : String(error)}
        </Alert>
      )}
      {retry && (
        <Group mt="sm">
          <Button variant="default" onClick={() => void retry()}>
            Try again
          </Button>
        </Group>
      )}
    </>
  );
}

export function RouteFailure() {
  const error = useRouteError();
  return error ? (
    <Failure error={error} retry={() => location.reload()} />
  ) : (
    <Text>
      There is no such page. <To path="/jobs">To the jobs</To>
    </Text>
  );
}
