"""`python -m rlx_compiler.child`: one compilation in a process of its own, within limits.

The request is one line of JSON on stdin; progress, and at the end the result or the error, are lines of JSON on
stdout. The parent keeps stdin open: when it closes, whether the parent wants an end or has died, this process and all
that it started end at once.
"""

from __future__ import annotations

import ctypes
import json
import math
import os
import resource
import signal
import sys
import threading
from pathlib import Path
from typing import Any, Final, TextIO

__all__ = ["main"]

_PR_SET_PDEATHSIG: Final = 1


def main() -> int:
    """Answers one request. The exit code is 0 where an answer was given, also an error."""
    answers = _private_stdout()
    line = os.fdopen(os.dup(0), "rb", buffering=0).readline()
    request: dict[str, Any] = json.loads(line)
    _end_with_parent(int(request["parent"]))
    _limit(**request["limits"])

    def say(kind: str, what: Any) -> None:
        answers.write(json.dumps({kind: what}) + "\n")
        answers.flush()

    say(*_answer(request, say))
    return 0


def _private_stdout() -> TextIO:
    """What was stdout, for the answers alone; whatever a library prints goes to stderr."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return answers


def _limit(seconds: float, memory_bytes: int) -> None:
    """Bounds this process and what it starts: address space, processor time, no core files."""
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    processor = math.ceil(seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (processor, processor))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _end_with_parent(parent: int) -> None:
    """Ends the process group when the parent does: by the end of stdin, and by a signal of the kernel on Linux."""

    def end(*_: object) -> None:
        if os.getpgrp() == os.getpid():
            os.killpg(0, signal.SIGKILL)
        os._exit(1)

    def watch() -> None:
        while os.read(0, 4096):
            pass
        end()

    signal.signal(signal.SIGTERM, end)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        end()
    threading.Thread(target=watch, daemon=True).start()


def _answer(request: dict[str, Any], say: Any) -> tuple[str, Any]:
    """("result", …) or ("error", …)."""
    # Imported under the limits, since a large program is read while they hold.
    from rlx_base.errors import CompileError, RlxError
    from rlx_compiler.driver import compile_module
    from rlx_compiler.options import CompileOptions
    from rlx_compiler.source import load_module

    def progress(phase: str, fraction: float) -> None:
        say("progress", [phase, fraction])

    try:
        progress("read", 0.0)
        options = CompileOptions(**request["options"])
        module = load_module(Path(request["source"]), options.dims)
        result = compile_module(module, options, Path(request["output"]), progress=progress)
    except MemoryError:
        return "error", _error(CompileError("E207", bytes=request["limits"]["memory_bytes"]))
    except RlxError as error:
        return "error", _error(error)
    return "result", {"digest": result.digest, "seconds_by_phase": dict(result.seconds_by_phase)}


def _error(error: Any) -> dict[str, Any]:
    at = error.at
    return {
        "code": error.code,
        "message": error.message,
        "help": error.help,
        "status": error.status,
        "caused_by": error.caused_by,
        "label": error.label,
        "at": None if at is None else [at.file, at.line, at.column, at.end_column],
    }


if __name__ == "__main__":
    sys.exit(main())
