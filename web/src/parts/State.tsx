import type { JobState } from "../api/client";

const TONE: Record<string, string> = {
  queued: "neutral",
  running: "active",
  succeeded: "good",
  failed: "bad",
  cancelled: "warn",
  lost: "warn",
  alive: "good",
  suspect: "warn",
  down: "bad",
};

/** A state in its colour and in words: the colour never stands alone. */
export function State({ state }: { state: JobState | "lost" | "alive" | "suspect" | "down" }) {
  return <span className={`state ${TONE[state] ?? "neutral"}`}>{state}</span>;
}
