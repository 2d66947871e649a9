"""A stack for the length of a block, for programs that bring their own: demos, tests, notebooks."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rlx.stack.control import DOWN_SECONDS, status
from rlx.stack.settings import StackSettings
from rlx.stack.state import StackState
from rlx_base.errors import ClusterError

__all__ = ["running"]

UP_SECONDS = 300.0


@contextmanager
def running(settings: StackSettings) -> Iterator[StackState]:
    """`rlx up` as a child process: up when the block begins, gone with all it started when the block ends.

    What it says goes where this process's own output goes. Raises E544 where it ends before it is up.
    """
    ports = [f"--{name}-port={port}" for name, port in settings.ports.model_dump().items()]
    process = subprocess.Popen([sys.executable, "-m", "rlx.cli", "up", f"--data={settings.data}", *ports])
    try:
        yield _until_ready(process, settings)
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(DOWN_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()  # its guard ends the services
            process.wait()


def _until_ready(process: subprocess.Popen[bytes], settings: StackSettings) -> StackState:
    deadline = time.monotonic() + UP_SECONDS
    while True:
        state = status(settings)
        if state is not None and state.ready and state.pid == process.pid:
            return state
        if process.poll() is not None:
            why = f"it ended with exit code {process.returncode}"
        elif time.monotonic() > deadline:
            why = f"it is not up after {UP_SECONDS:.0f} s"
        else:
            time.sleep(0.05)
            continue
        raise ClusterError("E544", service="the stack", why=why, log=settings.logs)
