"""Compiling in a child process with limits: a fault of LLVM, an endless loop or a huge program ends the child alone."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any, Final

from rlx_base.errors import CompileError, RlxError, restored
from rlx_base.span import Span
from rlx_compiler.options import CompileOptions, CompileResult, Limits, Progress
from rlx_wire.bundle import read_manifest

__all__ = ["compile_source"]

_POLL_SECONDS: Final = 0.05
_KEPT_OF_STDERR: Final = 4000


def compile_source(
    source: Path,
    options: CompileOptions,
    output: Path,
    *,
    limits: Limits | None = None,
    progress: Progress | None = None,
    over: threading.Event | None = None,
) -> CompileResult:
    """Compiles the model at `source` (`.rlx`, `.rlxz` or a folder with one) into the bundle folder `output`.

    Raises what `compile_module` and the reading of the source raise, E206 and E207 where the limits are reached, E208
    where the compiler crashed, E212 once `over` is set. In each case nothing of the child is left running.
    """
    limits = limits or Limits()
    source, output = Path(os.path.abspath(source)), Path(os.path.abspath(output))
    request = {
        "source": str(source),
        "output": str(output),
        "options": asdict(options) | {"dims": dict(options.dims)},
        "limits": asdict(limits),
        "parent": os.getpid(),
    }
    with tempfile.TemporaryDirectory(prefix="rlx-child-") as scratch, tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(
            # Nothing of the folder that it is started in can be imported.
            [sys.executable, "-P", "-m", "rlx_compiler.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=os.environ | {"TMPDIR": scratch},
            start_new_session=True,
        )
        try:
            answer = _conversation(child, request, limits, progress, over)
            if answer is None:
                child.wait()
                raise _fault(child.returncode, errors, limits)
        finally:
            _end(child)
    if "error" in answer:
        raise _restored(answer["error"], limits)
    result = answer["result"]
    manifest = read_manifest(output)
    report = json.loads((output / "report.json").read_bytes())
    return CompileResult(result["digest"], output, manifest, report, result["seconds_by_phase"])


def _conversation(
    child: subprocess.Popen[bytes],
    request: dict[str, Any],
    limits: Limits,
    progress: Progress | None,
    over: threading.Event | None,
) -> dict[str, Any] | None:
    """Sends the request and hears the answers; None where the child ended without a last one."""
    assert child.stdin is not None, "the child's stdin is a pipe"
    try:
        child.stdin.write(json.dumps(request).encode() + b"\n")
        child.stdin.flush()
    except BrokenPipeError:
        return None
    for line in _lines(child, limits.seconds, over):
        answer: dict[str, Any] = json.loads(line)
        if "progress" not in answer:
            return answer
        if progress is not None:
            phase, fraction = answer["progress"]
            progress(phase, fraction)
    return None


def _lines(child: subprocess.Popen[bytes], seconds: float, over: threading.Event | None) -> Iterator[bytes]:
    """The lines of the child's output as they come. Raises E206 when the time is up, E212 when it is over."""
    assert child.stdout is not None, "the child's stdout is a pipe"
    deadline = time.monotonic() + seconds
    pending = b""
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ)
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                raise CompileError("E206", seconds=seconds)
            if over is not None and over.is_set():
                raise CompileError("E212")
            if not selector.select(left if over is None else min(left, _POLL_SECONDS)):
                continue
            chunk = os.read(child.stdout.fileno(), 1 << 16)
            if not chunk:
                return
            *lines, pending = (pending + chunk).split(b"\n")
            yield from lines


def _end(child: subprocess.Popen[bytes]) -> None:
    """Ends the child with all that it started, and closes the pipes."""
    # The group exists as long as one of its members does, so this reaches a compiler that outlived the child.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    for pipe in (child.stdin, child.stdout):
        if pipe is not None:
            pipe.close()


def _fault(status: int, errors: IO[bytes], limits: Limits) -> RlxError:
    """Why a child ended without an answer."""
    errors.seek(0)
    words = errors.read()[-_KEPT_OF_STDERR:].decode(errors="replace").strip()
    if status == -signal.SIGXCPU:
        return CompileError("E206", seconds=limits.seconds)
    if _out_of_memory(words):
        return CompileError("E207", bytes=limits.memory_bytes, caused_by=words)
    how = f"signal {signal.Signals(-status).name}" if status < 0 else f"status {status}"
    return CompileError("E208", how=how, caused_by=words or None)


def _out_of_memory(words: str) -> bool:
    texts = ("out of memory", "MemoryError", "bad_alloc", "Cannot allocate memory", "failed to map")
    return any(text in words for text in texts)


def _restored(error: dict[str, Any], limits: Limits) -> RlxError:
    """The child's error as this process raises it. A tool that ran out of memory met the limit, not a fault."""
    if _out_of_memory(error["caused_by"] or ""):
        return CompileError("E207", bytes=limits.memory_bytes, caused_by=error["caused_by"])
    at = Span(*error["at"]) if error["at"] else None
    return restored(
        error["code"],
        error["message"],
        error["help"],
        status=error["status"],
        at=at,
        caused_by=error["caused_by"],
        label=error["label"],
    )
