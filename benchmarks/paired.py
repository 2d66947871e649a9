"""Runs peers side by side and says how they compare: `make bench`.

Each peer has a process of its own, since two thread pools in one process fight, and they take turns, a few runs each
round, so that a noisy minute falls on all of them. Times mean nothing on their own here; what counts is the ratio to
the peer and the share of the core's peak, both from the same rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Self

import numpy as np
import onnx
from rich.console import Console
from rich.table import Table

from benchmarks import onnx_graphs
from benchmarks.peak import Peak
from examples.efficientnet_lite0 import architecture, convert, preprocess
from examples.efficientnet_lite0.photos import PHOTOS

ROOT = Path(__file__).parents[1]
REPORT = ROOT / "build" / "reports" / "bench.json"
REFERENCE = "onnxruntime"
TARGETS = ("llvm", "c")
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class Peer:
    """A child process of `benchmarks.peer` that has loaded its model and waits to be asked for runs."""

    def __init__(self, name: str, kind: str, model: Path, inputs: Path, folder: Path) -> None:
        self.name, self.outputs_path = name, folder / f"{name}.npz"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.peer", kind, model, inputs, self.outputs_path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            cwd=ROOT,
            env=os.environ | ONE_THREAD,
        )

    def __enter__(self) -> Self:
        try:
            self._answer()
        except RuntimeError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()

    def _answer(self) -> str:
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process of {self.name} ended with {self.process.wait()}")
        return line

    def outputs(self) -> dict[str, np.ndarray]:
        with np.load(self.outputs_path) as file:
            return dict(file)

    def run(self, count: int) -> list[float]:
        """Seconds of each of `count` runs."""
        self.process.stdin.write(f"{count}\n")
        return [nanoseconds * 1e-9 for nanoseconds in json.loads(self._answer())]


@dataclass
class Row:
    """What was measured of one peer. `ratio` is its time over the reference's, as the median of the rounds' ratios."""

    name: str
    seconds: list[float] = field(default_factory=list)
    minimum: float = 0.0
    median: float = 0.0
    ratio: float = 1.0
    ratio_of_minima: float = 1.0
    peak_share: float = 0.0
    difference: float = 0.0
    compile_seconds: float | None = None
    compile_cpu_seconds: float | None = None


def compare(peers: Sequence[Peer], rounds: int, runs: int, seed: int = 0) -> list[Row]:
    """Interleaved rounds, in an order that changes from round to round."""
    order, shuffle = list(peers), random.Random(seed).shuffle
    best: dict[str, list[float]] = {peer.name: [] for peer in peers}
    rows = {peer.name: Row(peer.name) for peer in peers}
    for peer in peers:
        peer.run(runs)  # caches and clocks warm up
    for _ in range(rounds):
        shuffle(order)
        for peer in order:
            times = peer.run(runs)
            rows[peer.name].seconds += times
            best[peer.name].append(min(times))
    for row in rows.values():
        row.minimum, row.median = min(row.seconds), statistics.median(row.seconds)
    for row in rows.values():
        pairs = zip(best[row.name], best[REFERENCE], strict=True)
        row.ratio = statistics.median(mine / theirs for mine, theirs in pairs)
        row.ratio_of_minima = row.minimum / rows[REFERENCE].minimum
    return list(rows.values())


def largest_difference(mine: dict[str, np.ndarray], reference: dict[str, np.ndarray]) -> float:
    """Over all outputs, relative to the largest value of each; nan counts as infinitely far."""
    differences = [
        float(np.max(np.abs(mine[name] - expected)) / np.max(np.abs(expected))) for name, expected in reference.items()
    ]
    return max(difference if np.isfinite(difference) else np.inf for difference in differences)


@dataclass(frozen=True)
class ColdCompile:
    """A bundle, and what it took a fresh process with an empty cache, from its start to its end.

    On a busy machine the seconds of the clock say more about the others; those of the CPU are there beside them.
    """

    bundle: Path
    seconds: float
    cpu_seconds: float


def compile_cold(source: Path, target: str, folder: Path) -> ColdCompile:
    output = folder / f"bundle-{target}"
    with tempfile.TemporaryDirectory(dir=folder) as cache:
        before, start = _cpu_seconds_of_children(), time.perf_counter()
        answer = subprocess.run(
            [sys.executable, "-m", "benchmarks.cold_compile", source, target, output],
            cwd=ROOT,
            env=os.environ | {"RLX_CACHE_DIR": cache},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        seconds = time.perf_counter() - start
    bundle = Path(json.loads(answer.stdout)["bundle"])
    return ColdCompile(bundle, seconds, _cpu_seconds_of_children() - before)


def _cpu_seconds_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def flops() -> int:
    """Of one inference: two for each multiply-add of the convolutions and of the classifier."""
    convolutions = sum(2 * int(np.prod(layer.shape)) * layer.output_size**2 for layer in architecture.CONVOLUTIONS)
    return convolutions + 2 * architecture.CLASSES * architecture.HEAD_CHANNELS


def table(rows: Iterable[Row], peak: float) -> Table:
    view = Table(title=f"EfficientNet-Lite0, one thread, peak {peak / 1e9:.0f} GFLOP/s; ratio to {REFERENCE}")
    for column in ("peer", "min ms", "median ms", "ratio", "of peak", "difference", "compile s", "cpu s"):
        view.add_column(column, justify="left" if column == "peer" else "right")
    for row in rows:
        cold = [
            "" if seconds is None else f"{seconds:.1f}" for seconds in (row.compile_seconds, row.compile_cpu_seconds)
        ]
        view.add_row(
            row.name,
            f"{row.minimum * 1e3:.2f}",
            f"{row.median * 1e3:.2f}",
            f"{row.ratio:.2f}",
            f"{row.peak_share:.0%}",
            f"{row.difference:.1e}",
            *cold,
        )
    return view


def measure(targets: Sequence[str], rounds: int, runs: int, folder: Path) -> tuple[list[Row], float]:
    source = convert.convert()
    graph = folder / "efficientnet_lite0.onnx"
    onnx.save(onnx_graphs.efficientnet_lite0(source.with_suffix(".safetensors")), graph)
    inputs = folder / "inputs.npz"
    np.savez(inputs, image=preprocess.read_image(PHOTOS[0].path))
    compiled = {target: compile_cold(source, target, folder) for target in targets}
    peak = Peak(folder)
    peaks = [peak.measure()]
    with ExitStack() as stack:
        peers = [stack.enter_context(Peer(REFERENCE, "onnxruntime", graph, inputs, folder))]
        for target, cold in compiled.items():
            peers.append(stack.enter_context(Peer(f"rlx {target}", "rlx", cold.bundle, inputs, folder)))
        rows = compare(peers, rounds, runs)
        peaks.append(peak.measure())
        reference = peers[0].outputs()
        for row, peer in zip(rows, peers, strict=True):
            row.difference = largest_difference(peer.outputs(), reference)
            row.peak_share = flops() / row.minimum / max(peaks)
    for row, cold in zip(rows[1:], compiled.values(), strict=True):
        row.compile_seconds, row.compile_cpu_seconds = cold.seconds, cold.cpu_seconds
    return rows, max(peaks)


def broken_bounds(rows: Sequence[Row], arguments: argparse.Namespace) -> list[str]:
    """What `make bench` promises and this run did not hold."""
    found = []
    for row in rows[1:]:
        if row.ratio > arguments.max_ratio:
            found.append(f"{row.name} takes {row.ratio:.2f} x onnxruntime, at most {arguments.max_ratio}")
        if row.compile_seconds is not None and row.compile_seconds > arguments.max_compile:
            found.append(f"{row.name} compiles in {row.compile_seconds:.1f} s, at most {arguments.max_compile}")
        if row.difference > arguments.max_difference:
            found.append(f"{row.name} differs by {row.difference:.1e}, at most {arguments.max_difference}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--targets", nargs="+", default=TARGETS)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--runs", type=int, default=5, help="runs of each peer in a round")
    parser.add_argument("--max-ratio", type=float, default=4.0)
    parser.add_argument("--max-compile", type=float, default=20.0, metavar="SECONDS")
    parser.add_argument("--max-difference", type=float, default=1e-4)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rlx-bench-") as folder:
        rows, peak = measure(arguments.targets, arguments.rounds, arguments.runs, Path(folder))
    # A pipe has no width; the table needs some.
    Console(width=None if sys.stdout.isatty() else 100).print(table(rows, peak))
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    report = {
        "model": "efficientnet_lite0",
        "peak_flops": peak,
        "flops": flops(),
        "peers": [asdict(row) for row in rows],
    }
    REPORT.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    broken = broken_bounds(rows, arguments)
    for line in broken:
        print(f"bound broken: {line}", file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
