import { Anchor, Button, Card, Group, Loader, Progress, Stack, Tabs, Text, Title } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import { Link, useParams } from "react-router";

import { answer, api, FINAL, type Job, type JobEvent, type Task } from "../api/client";
import { useJobEvents } from "../api/events";
import { jobQuery } from "../api/queries";
import { Failure, ProblemView } from "../parts/Failure";
import { Loaded, Page } from "../parts/Page";
import { State } from "../parts/State";
import { between, moment, percent, seconds } from "../parts/words";

const CompileReport = lazy(() => import("../models/CompileReport"));

export function JobPage() {
  const { job = "" } = useParams();
  const events = useJobEvents(job, true);
  const query = useQuery(jobQuery(job));
  return <Loaded query={query}>{(data) => <JobView job={data} events={events} />}</Loaded>;
}

function JobView({ job, events }: { job: Job; events: readonly JobEvent[] }) {
  const client = useQueryClient();
  const cancel = useMutation({
    mutationFn: () => answer(api.POST("/v1/jobs/{job}/cancel", { params: { path: { job: job.id } } })),
    onSuccess: (cancelled) => client.setQueryData(jobQuery(job.id).queryKey, cancelled),
  });
  const version = `/models/${job.model}/${job.version}`;
  const actions = !FINAL.has(job.state) && (
    <Button variant="default" loading={cancel.isPending} onClick={() => cancel.mutate()}>
      Cancel
    </Button>
  );
  return (
    <Page title={`${job.model} version ${job.version}`} actions={actions}>
      <Stack>
        {cancel.error && <Failure error={cancel.error} />}
        <Group gap="lg">
          <span role="status" data-testid="job-state">
            <State state={job.state} />
          </span>
          <Text size="sm">posted {moment(job.created_at)}</Text>
          {job.ended_at && <Text size="sm">took {between(job.created_at, job.ended_at)}</Text>}
          <Text size="sm" className="mono">
            -O{job.options.opt_level}
            {job.options.strict ? " strict" : ""}
          </Text>
          <Anchor component={Link} to={version} size="sm">
            source and graph
          </Anchor>
        </Group>
        {job.tasks.map((task) => (
          <TaskView key={task.id} task={task} source={version} />
        ))}
        <Log events={events} began={job.created_at} />
      </Stack>
    </Page>
  );
}

function TaskView({ task, source }: { task: Task; source: string }) {
  const last = task.attempts?.at(-1);
  return (
    <Card withBorder radius="md" data-testid={`task-${task.target}`}>
      <Group justify="space-between">
        <Title order={2} size="h5">
          <span className="mono">{task.target}</span> on {task.cpu}
        </Title>
        <State state={task.state} />
      </Group>
      <Text size="sm" c="dimmed">
        {last ? `attempt ${last.number} by ${last.worker}` : "waits for a worker"}
        {last?.ended_at ? `, ${between(last.started_at, last.ended_at)}` : ""}
        {task.losses ? `, lost ${task.losses} times before` : ""}
      </Text>
      {task.state === "running" && <Bar task={task} />}
      {task.problem && (
        <ProblemView
          problem={task.problem}
          openAt={task.problem.line ? `${source}?tab=text&line=${task.problem.line}` : undefined}
        />
      )}
      {task.artifact && <Outcome task={task} digest={task.artifact} />}
    </Card>
  );
}

function Bar({ task }: { task: Task }) {
  const fraction = task.progress?.fraction ?? 0;
  return (
    <Group mt="xs" wrap="nowrap">
      <Progress.Root style={{ flex: 1 }}>
        <Progress.Section value={Math.round(fraction * 100)} aria-label={`Progress of ${task.target}`} />
      </Progress.Root>
      <Text size="sm">
        {percent(fraction)} {task.progress?.phase ?? "starting"}
      </Text>
    </Group>
  );
}

function Outcome({ task, digest }: { task: Task; digest: string }) {
  const phases = Object.entries(task.attempts?.at(-1)?.seconds_by_phase ?? {});
  return (
    <Tabs defaultValue="none" keepMounted={false} mt="xs">
      <Group justify="space-between" gap="xs">
        <Group gap="md">
          <Anchor component={Link} to={`/artifacts/${digest}`} size="sm">
            artifact <span className="mono">{digest.slice(0, 12)}</span>
          </Anchor>
          <Anchor href={`/v1/artifacts/${digest}/bundle`} download={`${digest.slice(0, 12)}.zip`} size="sm">
            download
          </Anchor>
        </Group>
        <Tabs.List aria-label="Details">
          <Tabs.Tab value="report">Compile report</Tabs.Tab>
          <Tabs.Tab value="phases">Phases</Tabs.Tab>
        </Tabs.List>
      </Group>
      <Tabs.Panel value="report" pt="sm">
        <Suspense fallback={<Loader aria-label="Loading" />}>
          <CompileReport digest={digest} />
        </Suspense>
      </Tabs.Panel>
      <Tabs.Panel value="phases" pt="sm">
        {phases.length === 0 && <Text size="sm">This worker did not say how long each phase took.</Text>}
        {phases.map(([phase, time]) => (
          <Group key={phase} justify="space-between" maw={360}>
            <Text size="sm">{phase}</Text>
            <Text size="sm" className="mono">
              {seconds(time)}
            </Text>
          </Group>
        ))}
      </Tabs.Panel>
    </Tabs>
  );
}

/** The job's history as it was told, each line with the time since the post. */
function Log({ events, began }: { events: readonly JobEvent[]; began: string }) {
  return (
    <section aria-label="Log">
      <Title order={2} size="h5" mb="xs">
        Log
      </Title>
      <div
        className="scroll"
        style={{ maxHeight: "16rem" }}
        tabIndex={0}
        role="log"
        aria-label="History of the job"
      >
        <pre style={{ padding: "0.5rem 0.75rem" }} data-testid="log">
          {events.length === 0 ? "Nothing happened yet." : events.map((event) => `${line(event, began)}\n`)}
        </pre>
      </div>
    </section>
  );
}

function line(event: JobEvent, began: string): string {
  const time = `+${between(began, event.at)}`.padEnd(10);
  const who = event.kind === "job" ? "job" : (event.target ?? "task");
  if (event.progress) return `${time} ${who}: ${percent(event.progress.fraction)} ${event.progress.phase}`;
  const tried = event.attempt ? ` (attempt ${event.attempt})` : "";
  const why = event.problem ? `: ${event.problem.code} ${event.problem.detail}` : "";
  return `${time} ${who}: ${event.state ?? event.kind}${tried}${why}`;
}
