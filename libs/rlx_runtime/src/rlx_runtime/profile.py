"""What a traced run tells: which thread worked on which kernel when, as a Chrome trace and as a table.

`profile.json` opens in chrome://tracing, Perfetto and `rlx profile-viewer`: one row for each thread, one box for each
share of a kernel, with the kernel's work and the rate it was done at.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np

from rlx_runtime.peak import Peak
from rlx_wire.manifest import KernelSpec, Manifest

__all__ = ["KernelSummary", "KernelTiming", "Profile", "read_trace"]

_ROW = np.dtype([("start", "<i8"), ("end", "<i8"), ("kernel", "<i4"), ("thread", "<i4")])


@dataclass(frozen=True, slots=True)
class KernelTiming:
    """One thread's share of one kernel. Times are of the monotonic clock, in nanoseconds."""

    kernel: int
    thread: int
    start_ns: int
    end_ns: int


@dataclass(frozen=True, slots=True)
class KernelSummary:
    """One kernel over all runs. A kernel lasts from its first thread's start to its last thread's end."""

    name: str
    ops: tuple[str, ...]
    calls: int
    total_ms: float
    share: float
    gflops: float


def read_trace(rows: bytes) -> tuple[KernelTiming, ...]:
    """The rows that compiled code wrote; one that it left empty (a kernel never reached) is dropped."""
    table = np.frombuffer(rows, _ROW)
    return tuple(
        KernelTiming(int(row["kernel"]), int(row["thread"]), int(row["start"]), int(row["end"]))
        for row in table
        if row["end"] > 0
    )


@dataclass(frozen=True, slots=True)
class Profile:
    """The timings of one or more runs of a model."""

    model: str
    digest: str
    target: str
    threads: int
    kernels: tuple[KernelSpec, ...]
    runs: tuple[tuple[KernelTiming, ...], ...]

    @classmethod
    def of(cls, manifest: Manifest, threads: int, runs: Sequence[tuple[KernelTiming, ...]]) -> Self:
        return cls(manifest.model, manifest.digest, manifest.target, threads, manifest.kernels, tuple(map(tuple, runs)))

    def summary(self) -> list[KernelSummary]:
        """One row for each kernel that ran, the longest first."""
        spent = [0] * len(self.kernels)
        calls = [0] * len(self.kernels)
        for run in self.runs:
            for kernel, (start, end) in _spans(run).items():
                spent[kernel] += end - start
                calls[kernel] += 1
        total = sum(spent)
        rows = [
            KernelSummary(
                spec.name, spec.ops, count, ns / 1e6, ns / total if total else 0.0, _rate(spec.flops * count, ns)
            )
            for spec, count, ns in zip(self.kernels, calls, spent, strict=True)
            if count
        ]
        return sorted(rows, key=lambda row: -row.total_ms)

    def table(self) -> str:
        """The summary as text: kernel, calls, total time, share, rate."""
        rows = self.summary()
        width = max([len("kernel"), *(len(row.name) for row in rows)])
        lines = [f"{'kernel':<{width}}  {'calls':>5}  {'total ms':>10}  {'share':>6}  {'GFLOP/s':>8}"]
        lines += [
            f"{row.name:<{width}}  {row.calls:>5}  {row.total_ms:>10.3f}  {row.share:>6.1%}  {row.gflops:>8.1f}"
            for row in rows
        ]
        return "\n".join(lines)

    def chrome_trace(self, peak: Peak | None = None) -> dict[str, Any]:
        """The profile in the Trace Event Format; times in microseconds since the first event.

        With `peak`, a reader can tell how near each kernel came to what the machine can give.
        """
        events: list[dict[str, Any]] = [
            {"ph": "M", "name": "thread_name", "pid": 1, "tid": thread, "args": {"name": f"thread {thread}"}}
            for thread in range(self.threads)
        ]
        begin = min((timing.start_ns for run in self.runs for timing in run), default=0)
        for number, run in enumerate(self.runs):
            spans = _spans(run)
            for timing in run:
                spec = self.kernels[timing.kernel]
                start, end = spans[timing.kernel]
                events.append(
                    {
                        "ph": "X",
                        "name": spec.name,
                        "cat": "kernel",
                        "pid": 1,
                        "tid": timing.thread,
                        "ts": (timing.start_ns - begin) / 1e3,
                        "dur": (timing.end_ns - timing.start_ns) / 1e3,
                        "args": {
                            "run": number,
                            "ops": list(spec.ops),
                            "flops": spec.flops,
                            "bytes": spec.bytes,
                            "gflops": round(_rate(spec.flops, end - start), 3),
                        },
                    }
                )
        return {
            "traceEvents": events,
            "displayTimeUnit": "ms",
            "otherData": {
                "model": self.model,
                "digest": self.digest,
                "target": self.target,
                "threads": self.threads,
                **({"peak": asdict(peak)} if peak is not None else {}),
            },
        }

    def to_json(self) -> str:
        """The text of `profile.json`."""
        return json.dumps(self.chrome_trace(), separators=(",", ":"), allow_nan=False)


def _spans(run: Sequence[KernelTiming]) -> dict[int, tuple[int, int]]:
    """For each kernel of a run, from its first thread's start to its last thread's end."""
    spans: dict[int, tuple[int, int]] = {}
    for timing in run:
        start, end = spans.get(timing.kernel, (timing.start_ns, timing.end_ns))
        spans[timing.kernel] = min(start, timing.start_ns), max(end, timing.end_ns)
    return spans


def _rate(flops: int, ns: int) -> float:
    """flop per nanosecond is GFLOP/s."""
    return flops / ns if ns > 0 else 0.0
