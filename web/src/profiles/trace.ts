// A profile read from its Chrome trace: spans by thread, kernels with their rates, and what limits each. Pure.

export interface Span {
  readonly kernel: string;
  readonly thread: number;
  readonly run: number;
  /** Microseconds since the first event. */
  readonly start: number;
  readonly end: number;
}

export interface Peak {
  readonly threads: number;
  readonly gflops: number;
  readonly gbytes_per_s: number;
}

export interface Kernel {
  readonly name: string;
  readonly ops: readonly string[];
  readonly calls: number;
  /** Microseconds over all runs, each from the first thread's start to the last thread's end. */
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
  readonly spans: readonly Span[];
  readonly threads: readonly number[];
  readonly kernels: readonly Kernel[];
  readonly duration: number;
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

export function read(content: unknown): Trace {
  const whole = (Array.isArray(content) ? { traceEvents: content } : content) as {
    traceEvents: TraceEvent[];
    otherData?: Record<string, unknown>;
  };
  const events = whole.traceEvents.filter((event) => event.ph === "X");
  const begin = events.reduce((least, event) => Math.min(least, event.ts), Infinity);
  const spans = events.map((event) => ({
    kernel: event.name,
    thread: event.tid,
    run: event.args?.run ?? 0,
    start: event.ts - begin,
    end: event.ts - begin + event.dur,
  }));
  const about = whole.otherData ?? {};
  return {
    spans,
    threads: [...new Set(spans.map((span) => span.thread))].sort((a, b) => a - b),
    kernels: kernelsOf(spans, events),
    duration: spans.reduce((latest, span) => Math.max(latest, span.end), 0),
    peak: (about.peak as Peak | undefined) ?? null,
    about,
  };
}

function kernelsOf(spans: readonly Span[], events: readonly TraceEvent[]): Kernel[] {
  const calls = new Map<
    string,
    { name: string; start: number; end: number; busy: number; threads: number }
  >();
  for (const { kernel, run, start, end } of spans) {
    const key = `${run} ${kernel}`;
    const call = calls.get(key);
    calls.set(key, {
      name: kernel,
      start: Math.min(start, call?.start ?? start),
      end: Math.max(end, call?.end ?? end),
      busy: (call?.busy ?? 0) + end - start,
      threads: (call?.threads ?? 0) + 1,
    });
  }
  const facts = new Map(events.map((event) => [event.name, event.args ?? {}]));
  const totals = new Map<string, { calls: number; time: number; busy: number; room: number }>();
  for (const { name, start, end, busy, threads } of calls.values()) {
    const total = totals.get(name) ?? { calls: 0, time: 0, busy: 0, room: 0 };
    total.calls += 1;
    total.time += end - start;
    total.busy += busy;
    total.room += (end - start) * threads;
    totals.set(name, total);
  }
  const sum = [...totals.values()].reduce((all, one) => all + one.time, 0);
  const kernels = [...totals].map(([name, { calls, time, busy, room }]) => {
    const { ops = [], flops = 0, bytes = 0 } = facts.get(name) ?? {};
    const rate = (amount: number) => (time > 0 ? (amount * calls) / (time * 1e3) : 0);
    return {
      name,
      ops,
      calls,
      time,
      share: sum > 0 ? time / sum : 0,
      flops,
      bytes,
      gflops: rate(flops),
      gbytes: rate(bytes),
      intensity: bytes > 0 ? flops / bytes : 0,
      balance: room > 0 ? busy / room : 1,
    };
  });
  return kernels.sort((a, b) => b.time - a.time);
}

export interface Bound {
  readonly name: "compute-bound" | "memory-bound" | "below its roof" | "unknown";
  /** Of the roof over this kernel's intensity. */
  readonly ofRoof: number | null;
  readonly advice: string;
}

/** The class of a kernel: compute-bound above 95 % of the unit, memory-bound above 90 % of the bandwidth with the unit
 * below 70 %. What reaches neither is told apart by which roof stands over it. */
export function bound(kernel: Kernel, peak: Peak | null): Bound {
  if (!peak)
    return { name: "unknown", ofRoof: null, advice: "This profile does not say what the machine can give." };
  const unit = kernel.gflops / peak.gflops;
  const bandwidth = kernel.gbytes / peak.gbytes_per_s;
  const underMemory = kernel.intensity * peak.gbytes_per_s < peak.gflops;
  const ofRoof = underMemory ? bandwidth : unit;
  if (unit > 0.95) {
    const advice = "It runs as fast as the unit can: a lower precision or less arithmetic would help.";
    return { name: "compute-bound", ofRoof, advice };
  }
  if (bandwidth > 0.9 && unit < 0.7) {
    const advice = "It waits for memory: fusing it with a neighbour or a smaller dtype would help.";
    return { name: "memory-bound", ofRoof, advice };
  }
  const lag = kernel.balance < 0.7 ? "Threads wait for each other: more, smaller shares would help. " : "";
  const roof = underMemory ? "memory" : "compute";
  return {
    name: "below its roof",
    ofRoof,
    advice: `${lag}The ${roof} roof is over it; its schedule is the first to look at.`,
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
