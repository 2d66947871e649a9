"""Holding an attempt: heartbeats from a thread while the child compiles, and an end to both when the lease is gone."""

from __future__ import annotations

import logging
import threading
import time
from types import TracebackType
from typing import Final, Self

import httpx

from rlx_compiler.worker.api import AttemptOver, Refused, WorkerApi
from rlx_wire.api import Progress

__all__ = ["HeldLease"]

_BEATS_A_LEASE: Final = 4
log = logging.getLogger(__name__)


class HeldLease:
    """While entered, beats four times a lease. `over` is set once the attempt is not ours any more.

    It is also given up here, by this machine's monotonic clock, when no heartbeat got through for a lease: by then
    compile-api has given it to somebody else, or soon will.
    """

    def __init__(self, api: WorkerApi, seconds: float) -> None:
        self.over = threading.Event()
        self._api = api
        self._seconds = seconds
        self._progress: Progress | None = None
        self._released = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="lease", daemon=True)

    def progress(self, phase: str, fraction: float) -> None:
        """What the next heartbeat tells; called by the compiler."""
        self._progress = Progress(phase=phase[:64], fraction=min(1.0, max(0.0, fraction)))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._released.set()
        self._thread.join()

    def _beat(self) -> None:
        pause = self._seconds / _BEATS_A_LEASE
        renewed = time.monotonic()
        while not self._released.wait(pause):
            began = time.monotonic()
            try:
                self._api.beat(self._progress, timeout=max(pause, 0.5))
                renewed = began
            except AttemptOver as over:
                log.info("the attempt is over: %s", over)
                self.over.set()
                return
            except (httpx.HTTPError, Refused) as error:
                log.warning("a heartbeat did not get through: %s", error)
            if time.monotonic() - renewed > self._seconds:
                log.warning("no heartbeat got through for %.1f s: the attempt is given up", self._seconds)
                self.over.set()
                return
