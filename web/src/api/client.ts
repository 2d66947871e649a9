// The API as the committed openapi.json describes it. Every refusal is thrown as an `ApiProblem`.

import createClient from "openapi-fetch";

import type { components, paths } from "./schema";

type Schemas = components["schemas"];
export type Artifact = Schemas["Artifact"];
export type Attempt = NonNullable<Schemas["Task"]["attempts"]>[number];
export type Deployment = Schemas["Deployment"];
export type InferResponse = Schemas["InferResponse"];
export type Job = Schemas["Job"];
export type JobState = Job["state"];
export type Model = Schemas["Model"];
export type ModelVersion = Schemas["ModelVersion"];
export type NodeView = Schemas["NodeView"];
export type Problem = Schemas["Problem"];
export type Profile = Schemas["Profile"];
export type Program = Schemas["Program"];
export type ProgramNode = Schemas["ProgramNode"];
export type Task = Schemas["Task"];
export type Tensor = Schemas["Tensor"];
export type TensorInfo = Schemas["TensorInfo"];
export type Progress = Schemas["Progress"];

/** One line of a job's history, as `GET /v1/jobs/{job}/events` sends it (`rlx_wire.api.JobEvent`). */
export interface JobEvent {
  readonly id: number;
  readonly kind: "job" | "task" | "progress";
  readonly at: string;
  readonly state?: JobState;
  readonly task?: string;
  readonly target?: string;
  readonly attempt?: number;
  readonly progress?: Progress;
  readonly artifact?: string;
  readonly problem?: Problem;
}

export const FINAL: ReadonlySet<JobState> = new Set(["succeeded", "failed", "cancelled"]);

/** Why the server refused, or that it does not answer (status 0). */
export class ApiProblem extends Error {
  readonly problem: Problem;

  constructor(problem: Partial<Problem> & { detail: string; status: number }) {
    super(problem.detail);
    this.problem = {
      type: "about:blank",
      title: "",
      code: "",
      error: "",
      help: "",
      violations: [],
      ...problem,
    };
  }

  get signedOut(): boolean {
    return this.problem.status === 401;
  }
}

export async function refusal(response: Response): Promise<ApiProblem> {
  const body: unknown = await response.json().catch(() => null);
  const detail = `The server answered ${response.status} ${response.statusText}.`;
  const given = typeof body === "object" && body !== null ? body : {};
  return new ApiProblem({ detail, ...given, status: response.status });
}

export function unreachable(): ApiProblem {
  return new ApiProblem({
    status: 0,
    detail: "The server does not answer.",
    help: "It is tried again by itself.",
  });
}

const client = createClient<paths>({ baseUrl: location.origin });
client.use({
  async onResponse({ response }) {
    if (!response.ok) throw await refusal(response);
  },
  onError({ error }) {
    return error instanceof ApiProblem ? error : unreachable();
  },
});

/** What a call answers; its refusal was thrown by the layer above. */
export async function answer<T>(call: Promise<{ data?: T }>): Promise<T> {
  return (await call).data as T;
}

/** Calls with a body or an answer that the description leaves open: uploads, traces, files of a bundle. */
export async function send(path: string, options: RequestInit = {}): Promise<Response> {
  const response = await fetch(path, { credentials: "same-origin", ...options }).catch(() => {
    throw unreachable();
  });
  if (!response.ok) throw await refusal(response);
  return response;
}

export const api = client;
