// One inference; or some of the same, whose profiles are kept on the server as one.

import { type InferResponse, type Profile, send } from "../api/client";
import { joined } from "../profiles/trace";
import type { Given } from "./tensors";

/** A single run is as slow as what else the machine did meanwhile; the fastest of five is less so. */
export const PROFILED_RUNS = 5;
const PROFILED_MS = 5000;

export interface Question {
  readonly model: string;
  readonly version: number;
  readonly target?: string;
  readonly inputs: Readonly<Record<string, Given | null>>;
}

const JSON_BODY = { "Content-Type": "application/json" };

export async function ask(question: Question, profile = false): Promise<InferResponse> {
  const body = JSON.stringify({ ...question, profile });
  const answered = await send("/v1/infer", { method: "POST", body, headers: JSON_BODY });
  return (await answered.json()) as InferResponse;
}

/** The first answer, and the profile of the runs that took place where it did: as many as there is time for. */
export async function profiled(
  question: Question,
): Promise<{ response: InferResponse; profile: Profile | null }> {
  const response = await ask(question, true);
  if (!response.profile) return { response, profile: null };
  const runs = [response];
  const until = performance.now() + PROFILED_MS;
  while (runs.length < PROFILED_RUNS && performance.now() < until) {
    const next = await ask({ ...question, target: response.target }, true);
    if (next.profile && next.node === response.node && next.device === response.device) runs.push(next);
  }
  return { response, profile: await keep(response, runs) };
}

/** Beside the trace, the timings of the last call, which found everything warm. */
async function keep(first: InferResponse, runs: readonly InferResponse[]): Promise<Profile> {
  const { model, version, target, node, device, profile } = first;
  const { timings } = runs.at(-1) ?? first;
  const other = { ...(profile?.otherData as object), timings, node, device };
  const note = `playground, version ${version} for ${target} on ${node}`;
  const body = JSON.stringify({ ...joined(runs.map((run) => run.profile)), otherData: other });
  const path = `/v1/profiles?${new URLSearchParams({ model, note })}`;
  return (await (await send(path, { method: "POST", body, headers: JSON_BODY })).json()) as Profile;
}
