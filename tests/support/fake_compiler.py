"""A worker whose compiler is a stand-in: a child process that writes an object file, waits, and writes a small bundle.

`python -m tests.support.fake_compiler CONTROL …settings` runs it. In the folder CONTROL the child leaves `wrote-…` once
its first object is there, and waits while there is a file `hold`.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import threading
import uuid
from pathlib import Path
from typing import Final

from rlx_base.errors import CompileError
from rlx_compiler.options import CompileOptions, CompileResult, Limits, Progress
from rlx_compiler.worker import WorkerSettings, run_worker
from rlx_wire.bundle import read_manifest
from tests.support.bundles import write_small_bundle

__all__ = ["FakeCompiler"]

_CHILD: Final = """
import pathlib, sys, time
folder, control, name = map(pathlib.Path, sys.argv[1:])
(folder / "kernel.o").write_bytes(b"half an object")
(control / name).touch()
while (control / "hold").exists():
    time.sleep(0.01)
"""


class FakeCompiler:
    """Fits the seam of the worker (`rlx_compiler.worker.Compile`). A source that begins with `fault` is refused."""

    def __init__(self, control: Path) -> None:
        self._control = control

    def __call__(
        self,
        source: Path,
        options: CompileOptions,
        output: Path,
        *,
        limits: Limits,
        progress: Progress,
        over: threading.Event,
    ) -> CompileResult:
        content = source.read_bytes()
        if content.startswith(b"fault"):
            raise CompileError("E203", level=options.opt_level)
        progress("emit", 0.5)
        name = f"wrote-{uuid.uuid4().hex}"
        child = subprocess.Popen([sys.executable, "-I", "-S", "-c", _CHILD, output.parent, self._control, name])
        try:
            while child.poll() is None:
                if over.wait(0.01):
                    raise RuntimeError("the attempt is over")
        finally:
            child.kill()
            child.wait()
        program = hashlib.sha256(content).hexdigest()
        digest = write_small_bundle(output, program, options.target, options.cpu, options.opt_level)
        return CompileResult(digest, output, read_manifest(output), {}, {"emit": 0.1})


if __name__ == "__main__":
    run_worker(
        WorkerSettings.load("fake-worker", sys.argv[2:]),
        FakeCompiler(Path(sys.argv[1])),
    )
