// A job's history as it happens. An EventSource comes back by itself with Last-Event-ID, so no line is told twice.

import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";

import type { Job, JobEvent } from "./client";
import { jobQuery } from "./queries";

/** The lines so far. Each change of state reads the job again; progress moves its bar without that. */
export function useJobEvents(job: string, keep: boolean): readonly JobEvent[] {
  const [history, setHistory] = useState<{ job: string; events: readonly JobEvent[] }>({ job, events: [] });
  const client = useQueryClient();
  useEffect(() => {
    const source = new EventSource(`/v1/jobs/${encodeURIComponent(job)}/events`);
    const heard = (message: MessageEvent<string>) => {
      const event = JSON.parse(message.data) as JobEvent;
      if (keep) {
        setHistory((last) => ({ job, events: last.job === job ? [...last.events, event] : [event] }));
      }
      if (event.kind === "progress") {
        client.setQueryData<Job>(jobQuery(job).queryKey, (known) => known && advanced(known, event));
      } else {
        void client.invalidateQueries({ queryKey: jobQuery(job).queryKey });
      }
    };
    for (const kind of ["job", "task", "progress"]) source.addEventListener(kind, heard);
    return () => source.close();
  }, [client, job, keep]);
  return history.job === job ? history.events : [];
}

export function advanced(job: Job, event: JobEvent): Job {
  const tasks = job.tasks.map((task) =>
    task.id === event.task && task.state === "running" ? { ...task, progress: event.progress ?? null } : task,
  );
  return { ...job, tasks };
}
