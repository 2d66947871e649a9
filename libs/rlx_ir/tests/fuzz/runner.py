"""Sends texts to limited children, one by one, and collects what became of each: one that kills its child is known."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Outcome", "read_all"]

CHILD = Path(__file__).with_name("child.py")
DEADLINE = 20.0  # for a child that hangs; how long a text may take is counted in its own CPU time


@dataclass(frozen=True)
class Outcome:
    """What became of one text."""

    content: bytes
    outcome: str  # "parsed", a code, "crash …", "killed …"
    seconds: float = 0.0
    peak: int = 0
    events: list[str] = field(default_factory=list)


class _Child:
    def __init__(self) -> None:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("COVERAGE_")}
        environment["OPENBLAS_NUM_THREADS"] = "1"  # each thread would take its share of the address space
        self.process = subprocess.Popen(
            [sys.executable, "-W", "error", str(CHILD)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
        )

    def read(self, kind: str, content: bytes) -> Outcome:
        process = self.process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(kind.encode() + b"%08d" % len(content) + content)
            process.stdin.flush()
        except BrokenPipeError:
            return Outcome(content, f"killed, status {process.wait()}")
        ready, _, _ = select.select([process.stdout], [], [], DEADLINE)
        if not ready:
            process.kill()
            process.wait()
            return Outcome(content, f"killed after {DEADLINE} s")
        line = process.stdout.readline()
        if not line:
            return Outcome(content, f"killed, status {process.wait()}")
        answer = json.loads(line)
        return Outcome(content, answer["outcome"], answer["seconds"], answer["peak"], answer["events"])

    def close(self) -> None:
        self.process.communicate()


def read_all(texts: Iterable[tuple[str, bytes]]) -> list[Outcome]:
    """What became of each (kind, content); a child that ends is replaced by a new one."""
    outcomes: list[Outcome] = []
    child = _Child()
    try:
        for kind, content in texts:
            outcome = child.read(kind, content)
            outcomes.append(outcome)
            if outcome.outcome.startswith("killed"):
                child.close()
                child = _Child()
    finally:
        child.close()
    return outcomes
