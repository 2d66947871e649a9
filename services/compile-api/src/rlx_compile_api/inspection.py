"""What an uploaded program is, found out in a child process with limits: an upload is the work of a stranger."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final, Protocol

from pydantic import BaseModel, ConfigDict

from rlx_base.errors import RequestError
from rlx_wire.api import Digest, Program, TensorInfo
from rlx_wire.problem import Problem

__all__ = ["ChildInspector", "Inspected", "Inspector", "Refused"]

_ANSWER_LIMIT: Final = 32 << 20
_NEEDED: Final = ("PATH", "PYTHONPATH", "HOME", "LANG")


class Inspected(BaseModel):
    """What the parser and the verifier say of a program that holds together."""

    model_config = ConfigDict(frozen=True)

    module: str
    program_digest: Digest
    meaning_digest: Digest
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]


class Refused(Exception):
    """The program does not hold together; the problem has code, line, column and caret."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail)
        self.problem = problem


class Inspector(Protocol):
    """Reads the `.rlx` or `.rlxz` at a path. Raises `Refused` for a program that does not hold together."""

    def __call__(self, path: Path, /) -> Inspected: ...

    def program(self, path: Path, /) -> Program:
        """The program for reading: its text and its graph."""
        ...


class ChildInspector:
    """`ChildInspector(seconds, bytes)(path)` reads, verifies and digests the `.rlx` or `.rlxz` at `path`."""

    def __init__(self, seconds: float, memory_bytes: int) -> None:
        self._seconds = seconds
        self._memory_bytes = memory_bytes

    def __call__(self, path: Path, /) -> Inspected:
        """Raises `Refused`, or E437 where the child took too much."""
        return Inspected.model_validate(self._ask("summary", path))

    def program(self, path: Path, /) -> Program:
        """Raises as a call does."""
        return Program.model_validate(self._ask("program", path))

    def _ask(self, what: str, path: Path) -> dict[str, Any]:
        command = [sys.executable, "-m", "rlx_compile_api.inspect_child", what, str(path)]
        limits = [str(int(self._seconds) + 1), str(self._memory_bytes)]
        # The service's own environment holds its keys.
        environment = {name: os.environ[name] for name in _NEEDED if name in os.environ}
        with subprocess.Popen(
            [*command, *limits], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=environment
        ) as child:
            try:
                output, _ = child.communicate(timeout=self._seconds)
            except subprocess.TimeoutExpired:
                child.kill()
                raise RequestError("E437", what="reading it", limit=f"{self._seconds:g} s") from None
        if child.returncode != 0 or len(output) > _ANSWER_LIMIT:
            # Killed by a limit of its own, or by the kernel for want of memory.
            limit = f"{self._memory_bytes >> 20} MiB or {self._seconds:g} s"
            raise RequestError("E437", what="reading it", limit=limit)
        answer: dict[str, Any] = json.loads(output)
        if "problem" in answer:
            raise Refused(Problem.model_validate(answer["problem"]))
        return answer
