"""Keeps the services of a stack running: starts them in order, restarts what ends, stops all in the reverse order.

A service is ready when its check says so. One that ends before it was ever ready fails the whole start, since it would
do so again; one that ends later is started anew after a pause that grows with each failure.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from rlx.stack import guard
from rlx.stack.state import ServiceState
from rlx_base.errors import ClusterError

__all__ = ["Service", "Supervisor", "pause"]

START_SECONDS = 60.0
GRACE_SECONDS = 10.0
LONG_LIFE_SECONDS = 30.0
LOG_BYTES = 16 << 20
TAIL_LINES = 12


@dataclass(frozen=True)
class Service:
    """A program of the stack. Services of one `stage` start together, once all of the stage before are ready.

    `prepare` is called before each start: the folder that a program reads may have been emptied since the last one.
    """

    name: str
    command: tuple[str, ...]
    ready: Callable[[], Awaitable[bool]]
    stage: int
    address: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    prepare: Callable[[], object] = lambda: None


def pause(failures: int) -> float:
    """Seconds before the next start: half a second, doubled with each failure in a row, ten at most."""
    return float(min(0.5 * 2 ** max(0, failures - 1), 10.0))


def ending(code: int) -> str:
    """What a return code means, in words."""
    if code >= 0:
        return f"ended with exit code {code}"
    with suppress(ValueError):
        return f"was ended by {signal.Signals(-code).name}"
    return f"was ended by signal {-code}"


class _Keeper:
    """One service: its process, its log, and what the supervisor is told about it."""

    def __init__(self, service: Service, supervisor: Supervisor) -> None:
        self.service, self.supervisor = service, supervisor
        self.process: asyncio.subprocess.Process | None = None
        self.log = supervisor.logs / f"{service.name}.log"
        self.state = ServiceState(address=service.address)

    def _becomes(self, **changes: object) -> None:
        self.state = self.state.model_copy(update=changes)
        self.supervisor.changed()

    async def start(self) -> None:
        """Runs the program and waits until it is ready. Raises E544 where it ends, takes too long, or cannot run."""
        try:
            await self._run()
        except OSError as error:
            raise ClusterError("E544", service=self.service.name, why=str(error), log=self.log) from error

    async def _run(self) -> None:
        # The folder may have been emptied since the last start.
        self.log.parent.mkdir(parents=True, exist_ok=True)
        if self.log.is_file() and self.log.stat().st_size > LOG_BYTES:
            self.log.replace(self.log.with_suffix(".log.1"))
        self.service.prepare()
        with self.log.open("ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                *self.service.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**self.supervisor.environment, **self.service.environment},
                # Its own group: a Ctrl-C at the terminal reaches the supervisor alone, which stops all in order.
                process_group=0,
            )
        self._becomes(state="starting", pid=self.process.pid)
        ended = asyncio.create_task(self.process.wait())
        ready = asyncio.create_task(self._poll())
        try:
            await asyncio.wait({ended, ready}, return_when=asyncio.FIRST_COMPLETED, timeout=START_SECONDS)
            if ended.done():
                self._fail(ending(ended.result()))
            if not ready.done():
                self._fail(f"it is not ready after {START_SECONDS:.0f} s")
            ready.result()
        finally:
            for task in (ended, ready):
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
        self._becomes(state="ready")

    def _fail(self, why: str) -> None:
        lines: list[str] = []
        with suppress(OSError):  # somebody has emptied the folder
            lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-TAIL_LINES:]
        words = "\n      ".join(["", *lines]) if lines else None
        raise ClusterError("E544", service=self.service.name, why=why, log=self.log, caused_by=words)

    async def _poll(self) -> None:
        while not await self.service.ready():
            await asyncio.sleep(0.05)

    async def keep(self) -> None:
        """Waits for the end of the process and starts it again, for ever."""
        failures, clock = 0, asyncio.get_running_loop().time
        while True:
            assert self.process is not None
            since = clock()
            why = ending(await self.process.wait())
            self._sweep()
            failures = 1 if clock() - since > LONG_LIFE_SECONDS else failures + 1
            self._becomes(state="waiting", pid=None, restarts=self.state.restarts + 1)
            self.supervisor.announce(
                f"{self.service.name} {why}; it starts again in {pause(failures):g} s (log: {self.log})"
            )
            await asyncio.sleep(pause(failures))
            ended = self.process
            try:
                await self.start()
            except ClusterError as error:
                # One that has ended is met again at the top; one that hangs has to be ended for that.
                if self.process is ended or self.process.returncode is None:
                    self.supervisor.announce(error.message)
                if self.process.returncode is None:
                    self._signal(signal.SIGKILL)
            else:
                self.supervisor.announce(f"{self.service.name} is back")

    def _signal(self, number: signal.Signals) -> None:
        if self.process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, number)

    def _sweep(self) -> None:
        """What a crashed program has started must not meet its successor."""
        self._signal(signal.SIGKILL)

    async def stop(self) -> None:
        """SIGTERM, time to finish, then SIGKILL for the group."""
        if self.process is not None:
            if self.process.returncode is None:
                # To the program alone: it knows in which order its own children end. Not by `send_signal`, which may
                # reap the process behind the event loop's back.
                with suppress(ProcessLookupError):
                    os.kill(self.process.pid, signal.SIGTERM)
                try:
                    await asyncio.wait_for(self.process.wait(), GRACE_SECONDS)
                except TimeoutError:
                    self.supervisor.announce(f"{self.service.name} does not end by itself and is killed")
            self._sweep()
            await self.process.wait()
        self._becomes(state="stopped", pid=None)


class Supervisor:
    """Runs services until it is told to stop; `on_change` is called with the state of all when one changes."""

    def __init__(
        self,
        services: Sequence[Service],
        logs: Path,
        marker: str,
        announce: Callable[[str], None],
        on_change: Callable[[dict[str, ServiceState]], None] = lambda states: None,
    ) -> None:
        self.logs, self.marker, self.announce, self.on_change = logs, marker, announce, on_change
        name, _, value = marker.partition("=")
        self.environment = {**os.environ, "PYTHONUNBUFFERED": "1", name: value}
        self.keepers = [_Keeper(service, self) for service in services]
        self._tasks: list[asyncio.Task[None]] = []

    def changed(self) -> None:
        """Whoever watches is told; one that cannot write it down is no reason to leave the services alone."""
        with suppress(OSError):
            self.on_change({keeper.service.name: keeper.state for keeper in self.keepers})

    def _stages(self) -> list[list[_Keeper]]:
        numbers = sorted({keeper.service.stage for keeper in self.keepers})
        return [[keeper for keeper in self.keepers if keeper.service.stage == number] for number in numbers]

    async def start(self) -> None:
        """Returns once every service is ready. Raises E544 for the first that cannot start."""
        for stage in self._stages():
            starts = [asyncio.create_task(self._start(keeper)) for keeper in stage]
            try:
                await asyncio.gather(*starts)
            finally:
                for start in starts:
                    start.cancel()
                await asyncio.gather(*starts, return_exceptions=True)
            for keeper in stage:
                self._tasks.append(asyncio.create_task(keeper.keep(), name=keeper.service.name))

    async def _start(self, keeper: _Keeper) -> None:
        await keeper.start()
        self.announce(f"{keeper.service.name:<12} {keeper.service.address}".rstrip())

    async def stop(self) -> None:
        """Ends what was started last first, and then whatever is left of any of them."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for stage in reversed(self._stages()):
            await asyncio.gather(*(keeper.stop() for keeper in stage))
        if left := guard.end(self.marker, grace_seconds=1.0):
            self.announce(f"{len(left)} processes of the stack did not end by themselves and were killed")
