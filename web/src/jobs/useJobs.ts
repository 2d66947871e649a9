// The list of jobs: pages are read once as the reader comes to them; the newest are read again every few seconds, and
// those that are not over are followed by their event streams.

import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { answer, api, type Job, type JobState } from "../api/client";

const PAGE = 200;
const NEWEST = 50;

export function useJobs(state: JobState | null) {
  const page = (limit: number, cursor?: string) =>
    answer(api.GET("/v1/jobs", { params: { query: { limit, cursor, state: state ?? undefined } } }));
  const older = useInfiniteQuery({
    queryKey: ["jobs", state],
    queryFn: ({ pageParam }) => page(PAGE, pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next ?? undefined,
    staleTime: Infinity,
  });
  const newest = useQuery({
    queryKey: ["newest", state],
    queryFn: () => page(NEWEST),
    refetchInterval: 3000,
  });
  const jobs = useMemo(() => {
    const known = new Map<string, Job>();
    for (const page of older.data?.pages ?? []) for (const job of page.items) known.set(job.id, job);
    for (const job of newest.data?.items ?? []) known.set(job.id, job);
    const listed = [...known.values()].filter((job) => !state || job.state === state);
    return listed.sort((a, b) => (a.created_at < b.created_at ? 1 : a.created_at > b.created_at ? -1 : 0));
  }, [older.data, newest.data, state]);
  return { jobs, older, newest };
}
