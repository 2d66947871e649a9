"""`up`, `status` and `down`: the supervisor of a stack from its first check to its last process."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from rlx.stack import guard
from rlx.stack.ports import check_ports
from rlx.stack.services import services
from rlx.stack.settings import StackSettings
from rlx.stack.state import ServiceState, StackState, is_running, only_one, read_state, write_state
from rlx.stack.supervisor import Supervisor
from rlx_base.errors import ClusterError

__all__ = ["down", "status", "up"]

DOWN_SECONDS = 60.0


def up(settings: StackSettings, announce: Callable[[str], None] = print) -> None:
    """Runs the stack until SIGINT or SIGTERM. Raises E540 to E544 where it cannot start."""
    settings.data.mkdir(parents=True, exist_ok=True, mode=0o700)
    settings.logs.mkdir(exist_ok=True)
    with only_one(settings.data):
        check_ports(settings.ports)
        marker = f"RLX_STACK={secrets.token_hex(8)}"
        with _guarded(marker):
            asyncio.run(_run(settings, marker, announce))


def status(settings: StackSettings) -> StackState | None:
    """The stack that runs on this data folder, or None."""
    return read_state(settings.data)


def down(settings: StackSettings) -> None:
    """Stops the stack of this data folder and returns once it has ended. Raises E545 where none runs."""
    state = read_state(settings.data)
    if state is None:
        raise ClusterError("E545", folder=settings.data)
    os.kill(state.pid, signal.SIGTERM)
    deadline = time.monotonic() + DOWN_SECONDS
    while is_running(settings.data):
        if time.monotonic() > deadline:
            raise ClusterError("E546", pid=state.pid, seconds=f"{DOWN_SECONDS:.0f}", folder=settings.logs)
        time.sleep(0.05)


@contextmanager
def _guarded(marker: str) -> Iterator[None]:
    """While this runs, a second process waits for our end and takes the services with it."""
    watcher = subprocess.Popen(
        [sys.executable, "-ES", Path(guard.__file__), marker],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    with watcher:
        yield


async def _run(settings: StackSettings, marker: str, announce: Callable[[str], None]) -> None:
    state = StackState(pid=os.getpid(), url=settings.url, ports=settings.ports, started_at=datetime.now(UTC))

    def record(services: dict[str, ServiceState]) -> None:
        nonlocal state
        state = state.model_copy(update={"services": services})
        write_state(settings.data, state)

    supervisor = Supervisor(services(settings), settings.logs, marker, announce, record)
    asked = asyncio.Event()
    _stop_on_signals(asked, marker, announce)
    try:
        if not await _start(supervisor, asked):
            return
        state = state.model_copy(update={"ready": True})
        write_state(settings.data, state)
        announce(f"RLX is up: {settings.url}   (Ctrl-C stops it; data in {settings.data})")
        await asked.wait()
    finally:
        await supervisor.stop()
        announce("RLX has stopped")


async def _start(supervisor: Supervisor, asked: asyncio.Event) -> bool:
    """False where somebody asked to stop before all was ready."""
    starting = asyncio.create_task(supervisor.start())
    stopping = asyncio.create_task(asked.wait())
    try:
        await asyncio.wait({starting, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if starting.done():
            starting.result()
            return True
        return False
    finally:
        for task in (starting, stopping):
            task.cancel()
        await asyncio.gather(starting, stopping, return_exceptions=True)


def _stop_on_signals(asked: asyncio.Event, marker: str, announce: Callable[[str], None]) -> None:
    """The first signal asks for an orderly end; a second one does not wait."""

    def handle() -> None:
        if asked.is_set():
            announce("stopping at once")
            guard.send(signal.SIGKILL, guard.members(marker))
        else:
            announce("stopping …")
        asked.set()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, handle)
