import { Loader, NativeSelect, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, memo, useEffect, useRef } from "react";
import { Link, useSearchParams } from "react-router";

import { FINAL, type Job, type JobState } from "../api/client";
import { useJobEvents } from "../api/events";
import { jobQuery } from "../api/queries";
import { Empty } from "../parts/Empty";
import { Failure } from "../parts/Failure";
import { Page } from "../parts/Page";
import { State } from "../parts/State";
import { To } from "../parts/To";
import { between, moment } from "../parts/words";
import { useJobs } from "./useJobs";

const STATES: readonly JobState[] = ["queued", "running", "succeeded", "failed", "cancelled"];
const ROW = 56;
/** Browsers open six connections to a server over HTTP/1.1: four streams leave two for everything else. */
const STREAMS = 4;

export function JobsPage() {
  const [search, setSearch] = useSearchParams();
  const state = STATES.find((one) => one === search.get("state")) ?? null;
  const { jobs, older, newest } = useJobs(state);
  const filter = (
    <NativeSelect
      aria-label="State"
      data={[{ value: "", label: "all states" }, ...STATES]}
      value={state ?? ""}
      onChange={(event) => setSearch(event.currentTarget.value ? { state: event.currentTarget.value } : {})}
    />
  );
  const error = older.error ?? (jobs.length === 0 ? newest.error : null);
  return (
    <Page title="Compile jobs" actions={filter}>
      {error ? (
        <Failure error={error} retry={older.refetch} />
      ) : older.isPending ? (
        <Loader aria-label="Loading" />
      ) : jobs.length === 0 ? (
        <Empty says={state ? `No job is ${state}.` : "No job yet."}>
          <Text size="sm">
            <To path="/models">Upload a model</To> and compile it; it shows here as it runs.
          </Text>
        </Empty>
      ) : (
        <JobList
          jobs={jobs}
          more={older.hasNextPage && !older.isFetchingNextPage ? older.fetchNextPage : null}
        />
      )}
    </Page>
  );
}

function JobList({ jobs, more }: { jobs: readonly Job[]; more: (() => unknown) | null }) {
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: jobs.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: 8,
  });
  const shown = rows.getVirtualItems();
  const last = shown.at(-1)?.index ?? 0;
  useEffect(() => {
    if (more && last >= jobs.length - 40) more();
  }, [more, last, jobs.length]);
  const followed = jobs.filter((job) => !FINAL.has(job.state)).slice(0, STREAMS);

  const walk = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const at = document.activeElement?.closest("li")?.dataset.index;
    if (!step || at === undefined) return;
    event.preventDefault();
    const next = Math.min(jobs.length - 1, Math.max(0, Number(at) + step));
    rows.scrollToIndex(next);
    requestAnimationFrame(() =>
      scroller.current?.querySelector<HTMLElement>(`[data-index="${next}"] a`)?.focus(),
    );
  };
  return (
    <>
      {followed.map((job) => (
        <Followed key={job.id} job={job.id} />
      ))}
      {/* eslint-disable-next-line jsx-a11y/no-static-element-interactions -- the arrows walk between its links */}
      <div
        className="jobs"
        ref={scroller}
        style={{ height: `min(${rows.getTotalSize() + 2}px, 100dvh - 11rem)` }}
        onKeyDown={walk}
        data-testid="jobs"
      >
        <ul style={{ height: rows.getTotalSize() }} aria-label="Jobs, newest first">
          {shown.map((row) => {
            const job = jobs[row.index];
            return (
              job && (
                <li
                  key={job.id}
                  data-index={row.index}
                  aria-setsize={jobs.length}
                  aria-posinset={row.index + 1}
                  style={{ transform: `translateY(${row.start}px)` }}
                >
                  {FINAL.has(job.state) ? <Row job={job} /> : <LiveRow job={job} />}
                </li>
              )
            );
          })}
        </ul>
      </div>
      <Text size="xs" c="dimmed" mt="xs" aria-live="off">
        {jobs.length} {jobs.length === 1 ? "job" : "jobs"}
        {more ? ", more further down" : ""}
      </Text>
    </>
  );
}

/** Keeps a job's entry in the cache as its stream tells it. */
function Followed({ job }: { job: string }) {
  useJobEvents(job, false);
  return null;
}

/** The followed job where it is newer than the list. */
function LiveRow({ job }: { job: Job }) {
  const live = useQuery({ ...jobQuery(job.id), initialData: job, initialDataUpdatedAt: 0 });
  return <Row job={live.data} />;
}

const Row = memo(function Row({ job }: { job: Job }) {
  const done = job.tasks.reduce(
    (sum, task) => sum + (FINAL.has(task.state) ? 1 : (task.progress?.fraction ?? 0)),
    0,
  );
  return (
    <Link to={`/jobs/${job.id}`}>
      <span className="name">
        {job.model} version {job.version}
      </span>
      <State state={job.state} />
      <span className={job.state === "running" ? "time took" : "time"}>{moment(job.created_at)}</span>
      <span className="targets mono">{job.tasks.map((task) => task.target).join(", ")}</span>
      {job.state === "running" ? (
        <progress className="bar" max={job.tasks.length} value={done} aria-label="Progress" />
      ) : (
        <span className="time took">
          {job.ended_at ? `took ${between(job.created_at, job.ended_at)}` : ""}
        </span>
      )}
    </Link>
  );
});
