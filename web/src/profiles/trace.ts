// A profile read from its Chrome trace: spans by thread, kernels with their rates, and what limits each. Pure.

export interface Span {
  readonly kernel: string;
  readonly thread: number;
  /** Microseconds since its run began. */
  readonly start: number;
  readonly end: number;
}

/** What is in sight, in microseconds. */
export interface View {
  readonly from: number;
  readonly to: number;
}

/** One run of the model. */
export interface Run {
  readonly number: number;
  readonly spans: readonly Span[];
  readonly duration: number;
}

export interface Peak {
  readonly threads: number;
  readonly gflops: number;
  readonly gbytes_per_s: number;
}

export interface Kernel {
  readonly name: string;
  readonly ops: readonly string[];
  /** Microseconds, from the first thread's start to the last thread's end, in the run where that was least: whatever
   * else the machine did can only have lengthened the others. */
  readonly time: number;
  readonly share: number;
  readonly flops: number;
  readonly bytes: number;
  readonly gflops: number;
  readonly gbytes: number;
  /** FLOP a byte. */
  readonly intensity: number;
  /** How much of the threads' time in this kernel was work, 1 where all began and ended together. */
  readonly balance: number;
}

export interface Trace {
  readonly runs: readonly [Run, ...Run[]];
  readonly threads: readonly number[];
  readonly kernels: readonly Kernel[];
  readonly fastest: Run;
  readonly peak: Peak | null;
  readonly about: Readonly<Record<string, unknown>>;
}

interface TraceEvent {
  readonly ph: string;
  readonly name: string;
  readonly tid: number;
  readonly ts: number;
  readonly dur: number;
  readonly args?: { run?: number; ops?: string[]; flops?: number; bytes?: number };
}

interface Content {
  readonly traceEvents: readonly TraceEvent[];
  readonly otherData?: Readonly<Record<string, unknown>>;
}

const contentOf = (given: unknown): Content =>
  Array.isArray(given) ? { traceEvents: given as TraceEvent[] } : (given as Content);

/** Traces of the same model on the same device as one, its runs one behind the other. What is said of all is the first's. */
export function joined(traces: readonly unknown[]): object {
  let behind = 0;
  const events = traces.map(contentOf).map(({ traceEvents }, run) => {
    const moved = traceEvents.map((event) =>
      event.ph === "X" ? { ...event, ts: event.ts + behind, args: { ...event.args, run } } : event,
    );
    behind = moved.reduce(
      (end, event) => (event.ph === "X" ? Math.max(end, event.ts + event.dur) : end),
      behind,
    );
    return run === 0 ? moved : moved.filter((event) => event.ph === "X");
  });
  return { ...(traces[0] as object), traceEvents: events.flat() };
}

export function read(given: unknown): Trace {
  const { traceEvents, otherData = {} } = contentOf(given);
  const events = traceEvents.filter((event) => event.ph === "X");
  const byRun = grouped(events, (event) => event.args?.run ?? 0);
  const [first = runOf(0, []), ...others] = [...byRun].map(([number, its]) => runOf(number, its));
  const runs = [first, ...others] as const;
  const kernels = kernelsOf(runs, events);
  return {
    runs: [...runs],
    threads: [...new Set(events.map((event) => event.tid))].sort((a, b) => a - b),
    kernels,
    fastest: runs.reduce((best, run) => (run.duration < best.duration ? run : best)),
    peak: raised((otherData.peak as Peak | undefined) ?? null, kernels),
    about: otherData,
  };
}

function runOf(number: number, events: readonly TraceEvent[]): Run {
  const begin = events.reduce((least, event) => Math.min(least, event.ts), Infinity);
  const spans = events.map(({ name, tid, ts, dur }) => ({
    kernel: name,
    thread: tid,
    start: ts - begin,
    end: ts - begin + dur,
  }));
  return { number, spans, duration: spans.reduce((latest, span) => Math.max(latest, span.end), 0) };
}

function grouped<Key, Item>(items: readonly Item[], key: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>();
  for (const item of items) {
    const group = groups.get(key(item));
    if (group) group.push(item);
    else groups.set(key(item), [item]);
  }
  return groups;
}

/** Where a kernel lies in its run: from its first thread's start to its last thread's end. */
export function extent(shares: readonly Span[]): View {
  const from = Math.min(...shares.map((span) => span.start));
  return { from, to: Math.max(...shares.map((span) => span.end)) };
}

function kernelsOf(runs: readonly Run[], events: readonly TraceEvent[]): Kernel[] {
  const facts = new Map(events.map((event) => [event.name, event.args ?? {}]));
  const calls = grouped(
    runs.flatMap((run) => [...grouped(run.spans, (span) => span.kernel)]),
    ([kernel]) => kernel,
  );
  const figures = [...facts].map(([name, { ops = [], flops = 0, bytes = 0 }]) => {
    const all = (calls.get(name) ?? []).map(([, shares]) => callOf(shares));
    const call = all.reduce((best, one) => (one.time < best.time ? one : best));
    return { name, ops, flops, bytes, ...call };
  });
  const sum = figures.reduce((all, { time }) => all + time, 0);
  const kernels = figures.map((one) => ({
    ...one,
    share: sum > 0 ? one.time / sum : 0,
    gflops: one.time > 0 ? one.flops / (one.time * 1e3) : 0,
    gbytes: one.time > 0 ? one.bytes / (one.time * 1e3) : 0,
    intensity: one.bytes > 0 ? one.flops / one.bytes : 0,
  }));
  return kernels.sort((a, b) => b.time - a.time);
}

function callOf(shares: readonly Span[]): Pick<Kernel, "time" | "balance"> {
  const { from, to } = extent(shares);
  const busy = shares.reduce((sum, span) => sum + span.end - span.start, 0);
  return { time: to - from, balance: to > from ? busy / ((to - from) * shares.length) : 1 };
}

/** A kernel that works faster than the roof which was measured shows that the machine can give more. */
function raised(peak: Peak | null, kernels: readonly Kernel[]): Peak | null {
  return peak && { ...peak, gflops: Math.max(peak.gflops, ...kernels.map((kernel) => kernel.gflops)) };
}

export interface Bound {
  readonly name: "compute-bound" | "memory-bound" | "below its roof" | "unknown";
  /** Which roof stands over a kernel of this intensity, and how near to it this one comes. */
  readonly roof: "memory" | "arithmetic";
  readonly ofRoof: number | null;
  readonly advice: string;
}

/** The class of a kernel: compute-bound above 95 % of the unit, memory-bound above 90 % of the bandwidth with the unit
 * below 70 %. What reaches neither is told apart by which roof stands over it. */
export function bound(kernel: Kernel, peak: Peak | null): Bound {
  if (!peak)
    return {
      name: "unknown",
      roof: "memory",
      ofRoof: null,
      advice: "This profile does not say what the machine can give.",
    };
  const unit = kernel.gflops / peak.gflops;
  const bandwidth = kernel.gbytes / peak.gbytes_per_s;
  const underMemory = kernel.intensity * peak.gbytes_per_s < peak.gflops;
  const roof = underMemory ? "memory" : "arithmetic";
  const ofRoof = underMemory ? bandwidth : unit;
  if (unit > 0.95) {
    const advice = "It runs as fast as the unit can: a lower precision or less arithmetic would help.";
    return { name: "compute-bound", roof, ofRoof, advice };
  }
  if (bandwidth > 0.9 && unit < 0.7) {
    const source = bandwidth > 1.1 ? "a cache, which is faster than memory" : "memory";
    const advice = `It waits for ${source}: fusing it with a neighbour or a smaller dtype would help.`;
    return { name: "memory-bound", roof, ofRoof, advice };
  }
  const lag = kernel.balance < 0.7 ? "Threads wait for each other: more, smaller shares would help. " : "";
  return {
    name: "below its roof",
    roof,
    ofRoof,
    advice: `${lag}Neither memory nor arithmetic holds it back: its schedule is the first to look at.`,
  };
}

interface Timings {
  readonly total_ns: number;
  readonly transfer_ns: number;
}

/** Of the whole call: network-bound where it took over 100 ms, most of it on the way. */
export function networkBound(trace: Trace): boolean {
  const timings = trace.about.timings as Timings | undefined;
  return timings !== undefined && timings.total_ns > 100e6 && timings.transfer_ns > timings.total_ns / 2;
}
