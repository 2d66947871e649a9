"""The executor as a node sees it: load a bundle, run it, and never learn that a process was replaced in between."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from rlx_base.errors import ClusterError, RequestError, RlxError
from rlx_runtime.executor.guard import ComputeGuard, deadline_exceeded
from rlx_runtime.executor.pool import SegmentPool
from rlx_runtime.executor.process import ExecutorProcess, ProcessEnded
from rlx_runtime.executor.protocol import Load, Unload
from rlx_runtime.executor.run import Result, RunRequest
from rlx_runtime.inputs import bind
from rlx_wire.bundle import read_manifest
from rlx_wire.manifest import Manifest

__all__ = ["Executor"]

_LOG: Final = logging.getLogger(__name__)

# How long a new process may take to say hello; Python and NumPy need a quarter of a second.
_START_S: Final = 30.0
# A bundle that was in the process each time it died while loading again is not tried a third time.
_MAX_CRASHES: Final = 2


@dataclass(slots=True)
class _Bundle:
    manifest: Manifest
    directory: Path
    crashes: int = 0


class Executor:
    """A device's executor process, kept running. `async with Executor() as executor: …`

    `in_flight` runs are with the process at once (one computes, the next is ready behind it), `queue` more may wait.
    A run that does not end within `cancel_grace_s` of its cancellation costs the process its life.
    """

    def __init__(
        self,
        device: str = "cpu:0",
        *,
        threads: int | None = None,
        in_flight: int = 2,
        queue: int = 64,
        cancel_grace_s: float = 1.0,
    ) -> None:
        self.device = device
        self.restarts = 0
        self._threads = threads
        self._guard = ComputeGuard(device, in_flight, queue)
        self._in_flight = in_flight
        self._cancel_grace_s = cancel_grace_s
        self._bundles: dict[str, _Bundle] = {}
        self._set_aside: dict[str, str] = {}
        self._supervisor: asyncio.Task[None] | None = None
        self._process: ExecutorProcess | None = None
        self._failure: str | None = None
        self._changed = asyncio.Condition()
        self._pool = SegmentPool(in_flight)

    # --- its life

    async def start(self) -> None:
        """Starts the process and keeps it running. Raises E515 when it cannot start."""
        if self._supervisor is None:
            self._failure = None
            self._pool = SegmentPool(self._in_flight)
            self._supervisor = asyncio.create_task(self._supervise(), name=f"executor {self.device}")
        await self._running()

    async def close(self) -> None:
        """Ends the process; what is in flight fails with E515. Leaves no process and no shared memory behind."""
        supervisor, self._supervisor = self._supervisor, None
        if supervisor is None:
            return
        supervisor.cancel()
        await asyncio.wait([supervisor])
        self._pool.close()
        self._bundles.clear()
        await self._publish(None, None)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # --- its level

    @property
    def ready(self) -> bool:
        """Whether a process is up that holds every loaded bundle."""
        return self._process is not None and not self._process.ended.done()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    @property
    def threads(self) -> int:
        """Members of the process's team; 0 while there is no process."""
        return self._process.threads if self._process is not None else 0

    @property
    def running(self) -> int:
        """Runs that the process has."""
        return self._guard.running

    @property
    def queue_depth(self) -> int:
        """Runs that wait for their turn here."""
        return self._guard.waiting

    @property
    def loaded(self) -> dict[str, Manifest]:
        """The bundles that can run, by digest."""
        return {digest: bundle.manifest for digest, bundle in self._bundles.items()}

    # --- bundles

    async def load(self, digest: str, directory: Path) -> int:
        """Loads and warms a bundle; gives the nanoseconds of a warm run (0 where symbolic dims leave shapes open).

        Raises: ArtifactError where the bundle is refused; E504 where loading or warming it crashes the
        process.
        """
        manifest = read_manifest(directory)
        while True:
            process = await self._running()
            id = process.next_id()
            try:
                done = await process.request(id, Load(id, digest, str(directory)))
            except ProcessEnded as end:
                if end.guilty or self._supervisor is None:
                    raise self._ended(manifest, end) from None
                continue
            self._set_aside.pop(digest, None)
            self._bundles[digest] = _Bundle(manifest, directory)
            return done.compute_ns

    async def unload(self, digest: str) -> None:
        """Forgets a bundle, after the runs that were asked for before. What is not loaded is forgotten already."""
        self._set_aside.pop(digest, None)
        if self._bundles.pop(digest, None) is not None and self._process is not None:
            id = self._process.next_id()
            with contextlib.suppress(ProcessEnded):
                await self._process.request(id, Unload(id, digest))

    # --- runs

    async def run(
        self,
        digest: str,
        inputs: Mapping[str, Any],
        *,
        deadline: float | None = None,
        trace: bool = False,
    ) -> Result:
        """One inference. `deadline` is a moment of the loop's clock: `asyncio.get_running_loop().time() + seconds`.

        Raises: E414 not loaded; E415 inputs that are not the manifest's; E417 the deadline passed; E424 too
        many wait; E504 the process crashed while it computed this. A caller that is cancelled gives its slot
        back as soon as the process lets go of the run, at its next kernel.
        """
        begin = asyncio.get_running_loop().time()
        manifest = self._bundle(digest).manifest
        binding = bind(manifest, inputs)
        request = RunRequest(digest, manifest, binding, begin, deadline, trace, self._cancel_grace_s)
        request.slot = await self._guard.acquire(deadline)
        try:
            while True:
                process = await self._running(begin, deadline)
                self._bundle(digest)  # It may have been unloaded, or set aside, while this run waited.
                try:
                    return await request.attempt(process, self._pool)
                except ProcessEnded as end:
                    # One that another run took down before this run began is no loss: nothing has happened yet.
                    if end.guilty or self._supervisor is None:
                        raise self._ended(manifest, end) from None
        finally:
            request.leave()

    def _bundle(self, digest: str) -> _Bundle:
        if digest in self._set_aside:
            raise ClusterError("E504", device=self.device, model=digest[:12], reason=self._set_aside[digest])
        if digest not in self._bundles:
            raise RequestError("E414", model=digest[:12], why=f"{self.device} does not hold it")
        return self._bundles[digest]

    def _ended(self, manifest: Manifest, end: ProcessEnded) -> ClusterError:
        if end.guilty:
            return ClusterError("E504", device=self.device, model=manifest.model, reason=end.reason)
        return ClusterError("E515", device=self.device, reason=end.reason)

    # --- supervision

    async def _running(self, begin: float = 0.0, deadline: float | None = None) -> ExecutorProcess:
        """The process, once one is ready. Raises E515 where there will be none, E417 after the deadline."""
        try:
            async with asyncio.timeout_at(deadline), self._changed:
                await self._changed.wait_for(lambda: self.ready or self._failure or not self._supervisor)
        except TimeoutError:
            raise deadline_exceeded("queue", begin, deadline) from None
        if self._process is None or self._supervisor is None:
            raise ClusterError("E515", device=self.device, reason=self._failure or "it was closed")
        return self._process

    async def _supervise(self) -> None:
        """One life of the process after another, with a growing pause only between lives that never began."""
        pause = 0.0
        while True:
            try:
                await self._live()
                pause = 0.0
            except (ProcessEnded, TimeoutError, OSError) as error:
                pause = min(5.0, max(0.1, 2 * pause))
                reason = str(error) or "no answer"
                _LOG.error("executor of %s did not start: %s", self.device, reason)
                await self._publish(None, f"it did not start: {reason}")
            self.restarts += 1
            await asyncio.sleep(pause)

    async def _live(self) -> None:
        """One life: up, all bundles loaded, at work, ended. Raises where it ended before it was ready."""
        process = ExecutorProcess(self._threads, int(self.device.rpartition(":")[2]))
        try:
            await asyncio.wait_for(asyncio.shield(process.hello), _START_S)
            await self._reload(process)
            await self._publish(process, None)
            reason = await asyncio.shield(process.ended)
            _LOG.error("executor of %s ended: %s; starting it again", self.device, reason)
            await self._publish(None, None)
        finally:
            self._process = None
            await process.close()

    async def _publish(self, process: ExecutorProcess | None, failure: str | None) -> None:
        async with self._changed:
            self._process, self._failure = process, failure
            self._changed.notify_all()

    async def _reload(self, process: ExecutorProcess) -> None:
        """Gives a new process all bundles. One that is refused now, or crashes it again and again, is set aside."""
        for digest, bundle in list(self._bundles.items()):
            id = process.next_id()
            try:
                await process.request(id, Load(id, digest, str(bundle.directory)))
                bundle.crashes = 0
            except ProcessEnded as end:
                bundle.crashes += 1
                if bundle.crashes >= _MAX_CRASHES:
                    self._put_aside(digest, end.reason)
                raise
            except RlxError as error:
                self._put_aside(digest, error.message)

    def _put_aside(self, digest: str, reason: str) -> None:
        _LOG.error("executor of %s does not load %s again: %s", self.device, digest, reason)
        self._set_aside[digest] = reason
        self._bundles.pop(digest, None)
