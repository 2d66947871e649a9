// What pages read, with one key each, and how often it is read again.

import { QueryClient, queryOptions } from "@tanstack/react-query";

import { answer, api, ApiProblem, send } from "./client";
import type { Report } from "./report";

/** A refusal is an answer and stands; only a server that is away is asked again. */
export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      retry: (count, error) => !(error instanceof ApiProblem && error.problem.status > 0) && count < 2,
      staleTime: 1000,
    },
  },
});

const FOR_EVER = { staleTime: Infinity, gcTime: 600_000 };

export const jobQuery = (job: string) =>
  queryOptions({
    queryKey: ["job", job],
    queryFn: () => answer(api.GET("/v1/jobs/{job}", { params: { path: { job } } })),
  });

export const modelsQuery = queryOptions({
  queryKey: ["models"],
  queryFn: async () => (await answer(api.GET("/v1/models", { params: { query: { limit: 200 } } }))).items,
  refetchInterval: 10_000,
});

export const versionsQuery = (name: string) =>
  queryOptions({
    queryKey: ["versions", name],
    queryFn: async () => {
      const params = { path: { name }, query: { limit: 200 } };
      return (await answer(api.GET("/v1/models/{name}/versions", { params }))).items;
    },
  });

export const programQuery = (name: string, version: number) =>
  queryOptions({
    queryKey: ["program", name, version],
    queryFn: () =>
      answer(
        api.GET("/v1/models/{name}/versions/{version}/program", { params: { path: { name, version } } }),
      ),
    ...FOR_EVER,
  });

export const artifactsQuery = (model: string, version: number) =>
  queryOptions({
    queryKey: ["artifacts", model, version],
    queryFn: async () =>
      (await answer(api.GET("/v1/artifacts", { params: { query: { model, version, limit: 200 } } }))).items,
    refetchInterval: 5000,
  });

export const artifactQuery = (digest: string) =>
  queryOptions({
    queryKey: ["artifact", digest],
    queryFn: () => answer(api.GET("/v1/artifacts/{digest}", { params: { path: { digest } } })),
    ...FOR_EVER,
  });

export interface Manifest {
  readonly files: Readonly<Record<string, { readonly bytes: number; readonly sha256: string }>>;
  readonly compiler_version: string;
  readonly cpu: string;
  readonly cpu_features: readonly string[];
}

export const filePath = (digest: string, file: string) =>
  `/v1/artifacts/${digest}/files/${encodeURIComponent(file)}`;

export const manifestQuery = (digest: string) =>
  queryOptions({
    queryKey: ["manifest", digest],
    queryFn: async () => (await (await send(filePath(digest, "manifest.json"))).json()) as Manifest,
    ...FOR_EVER,
  });

export const reportQuery = (digest: string) =>
  queryOptions({
    queryKey: ["report", digest],
    queryFn: async () => (await (await send(filePath(digest, "report.json"))).json()) as Report,
    ...FOR_EVER,
  });

export const fileTextQuery = (digest: string, file: string) =>
  queryOptions({
    queryKey: ["file", digest, file],
    queryFn: async () => (await send(filePath(digest, file))).text(),
    ...FOR_EVER,
  });

export const deploymentsQuery = queryOptions({
  queryKey: ["deployments"],
  queryFn: async () => (await answer(api.GET("/v1/deployments"))).items,
  refetchInterval: 5000,
});

export const nodesQuery = queryOptions({
  queryKey: ["nodes"],
  queryFn: () => answer(api.GET("/v1/nodes")),
  refetchInterval: 2000,
});

export const profilesQuery = queryOptions({
  queryKey: ["profiles"],
  queryFn: async () => (await answer(api.GET("/v1/profiles", { params: { query: { limit: 200 } } }))).items,
  refetchInterval: 10_000,
});

export const profileQuery = (profile: string) =>
  queryOptions({
    queryKey: ["profile", profile],
    queryFn: () => answer(api.GET("/v1/profiles/{profile}", { params: { path: { profile } } })),
    ...FOR_EVER,
  });

export const traceQuery = (profile: string) =>
  queryOptions({
    queryKey: ["trace", profile],
    queryFn: async (): Promise<unknown> => (await send(`/v1/profiles/${profile}/trace`)).json(),
    ...FOR_EVER,
  });
