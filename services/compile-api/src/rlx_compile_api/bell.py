"""Tells those who wait on a request that something changed, so that they look again; it carries no news itself.

A ring may come from any thread. One that is missed costs little: who waits also looks again after a while, which is
also how changes made by another process of the service are seen.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress

__all__ = ["Bell", "Listener"]


class Listener:
    """One who waits. Take a look after `listen` or `heard`, then wait: what happens meanwhile is not missed."""

    def __init__(self) -> None:
        self._rung = asyncio.Event()

    async def heard(self, timeout: float) -> None:
        """Returns after a ring, or after `timeout` seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._rung.wait()
        self._rung.clear()

    def ring(self) -> None:
        self._rung.set()


class Bell:
    """Belongs to the event loop that `attach` was called in; before that, a ring is heard by nobody."""

    def __init__(self) -> None:
        self.closed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._listeners: set[Listener] = set()

    def attach(self) -> None:
        self._loop = asyncio.get_running_loop()

    @contextmanager
    def listen(self) -> Iterator[Listener]:
        listener = Listener()
        self._listeners.add(listener)
        try:
            yield listener
        finally:
            self._listeners.discard(listener)

    def ring(self) -> None:
        loop = self._loop
        if loop is not None:
            with suppress(RuntimeError):  # the loop has ended, and those who waited with it
                loop.call_soon_threadsafe(self._ring)

    def close(self) -> None:
        """The service ends: who waits looks up, sees `closed`, and answers with what there is."""
        self.closed = True
        self._ring()

    def _ring(self) -> None:
        for listener in tuple(self._listeners):
            listener.ring()
