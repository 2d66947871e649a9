// Numbers and times as people read them.

export function bytes(count: number): string {
  for (const [unit, size] of [
    ["GiB", 2 ** 30],
    ["MiB", 2 ** 20],
    ["KiB", 2 ** 10],
  ] as const) {
    if (count >= size) return `${(count / size).toFixed(1)} ${unit}`;
  }
  return `${count} B`;
}

export function seconds(time: number): string {
  if (time < 1e-3) return `${(time * 1e6).toFixed(1)} µs`;
  if (time < 1) return `${(time * 1e3).toFixed(time < 0.01 ? 2 : 1)} ms`;
  if (time < 60) return `${time.toFixed(1)} s`;
  return `${Math.floor(time / 60)} min ${Math.round(time % 60)} s`;
}

export function between(start: string, end: string): string {
  return seconds(Math.max(0, Date.parse(end) - Date.parse(start)) / 1000);
}

export function count(value: number): string {
  for (const [unit, size] of [
    ["G", 1e9],
    ["M", 1e6],
    ["k", 1e3],
  ] as const) {
    if (value >= size) return `${(value / size).toFixed(1)} ${unit}`;
  }
  return `${value} `;
}

export const percent = (share: number) => `${(share * 100).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`;

export const shape = (dims: readonly (number | string)[]) => `[${dims.join(", ")}]`;

const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

/** The time of day for what happened within a day, the date besides for what is older. */
export function moment(iso: string): string {
  const time = Date.parse(iso);
  return (Date.now() - time < 86_400_000 ? clock : day).format(time);
}
