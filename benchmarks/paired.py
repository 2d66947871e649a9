"""Peers side by side: each in a process of its own, taking turns.

Two thread pools in one process fight, so every peer has its own; and they run a few times each round, in an order that
changes, so that a noisy minute falls on all of them. Times mean nothing on their own here; what counts is the ratio to
the peer and the share of the peak, both from the same rounds.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

ROOT = Path(__file__).parents[1]
# NumPy's own pool must not stand beside the one that is measured.
_NO_POOLS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

Arrays = Mapping[str, np.ndarray]


class Peer:
    """A child process of `benchmarks.peer` that has loaded its model and waits to be asked for runs."""

    def __init__(self, name: str, kind: str, model: Path, inputs: Path, folder: Path, threads: int = 1) -> None:
        self.name, self.outputs_path = name, folder / f"{name}-{threads}.npz"
        self.load_seconds = 0.0
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.peer", kind, model, inputs, self.outputs_path, str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            cwd=ROOT,
            env=os.environ | _NO_POOLS,
        )

    def __enter__(self) -> Self:
        try:
            self.load_seconds = json.loads(self._answer())
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


@dataclass(frozen=True)
class Times:
    """Of one peer, all its runs in seconds; `rounds` are the best of each round, in the order of the rounds."""

    runs: tuple[float, ...]
    rounds: tuple[float, ...]

    @property
    def minimum(self) -> float:
        return min(self.runs)

    @property
    def median(self) -> float:
        return statistics.median(self.runs)

    def over(self, other: Times) -> float:
        """The median of the rounds' ratios: what a noisy minute did to both cancels in it."""
        return statistics.median(mine / theirs for mine, theirs in zip(self.rounds, other.rounds, strict=True))


def compare(
    peers: Sequence[Peer], rounds: int, runs: int, seed: int = 0, between: Callable[[], None] = lambda: None
) -> dict[str, Times]:
    """Interleaved rounds, in an order that changes from round to round; `between` is called before each."""
    order, shuffle = list(peers), random.Random(seed).shuffle
    times: dict[str, list[list[float]]] = {peer.name: [] for peer in peers}
    for peer in peers:
        peer.run(runs)  # caches and clocks warm up
    for _ in range(rounds):
        between()
        shuffle(order)
        for peer in order:
            times[peer.name].append(peer.run(runs))
    return {
        name: Times(tuple(one for taken in turns for one in taken), tuple(map(min, turns)))
        for name, turns in times.items()
    }


def largest_difference(mine: Arrays, reference: Arrays) -> float:
    """Over all outputs, relative to the largest value of each; nan counts as infinitely far."""
    differences = [
        float(np.max(np.abs(mine[name] - expected)) / np.max(np.abs(expected))) for name, expected in reference.items()
    ]
    return max(difference if np.isfinite(difference) else np.inf for difference in differences)
