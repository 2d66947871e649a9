"""`ComputeGuard`: how many computations a device has at once, how many may wait, and how long.

Every computation passes it, so the event loop stays free, a device is never asked for more than it can do,
and what cannot be done in time is refused while it waits instead of afterwards.
"""

from __future__ import annotations

import asyncio
from collections import deque

from rlx_base.errors import RequestError

__all__ = ["ComputeGuard", "Slot", "deadline_exceeded"]


class Slot:
    """The right to compute. `release` gives it to the next in line; giving it back twice does nothing."""

    def __init__(self, guard: ComputeGuard) -> None:
        self._guard: ComputeGuard | None = guard

    def release(self) -> None:
        guard, self._guard = self._guard, None
        if guard is not None:
            guard._release()


class ComputeGuard:
    """`slots` computations at once and a line of at most `queue` behind them, first come, first served."""

    def __init__(self, device: str, slots: int, queue: int) -> None:
        self.device = device
        self._free = slots
        self._slots = slots
        self._queue = queue
        self._line: deque[asyncio.Future[None]] = deque()

    @property
    def running(self) -> int:
        return self._slots - self._free

    @property
    def waiting(self) -> int:
        return len(self._line)

    async def acquire(self, deadline: float | None = None) -> Slot:
        """Waits for a slot until `deadline`, a moment of the loop's clock.

        Raises: E424 where too many wait already; E417 when the deadline passes first. A caller that is
        cancelled leaves the line, and a slot that it was just given goes to the next.
        """
        if self._free:
            self._free -= 1
            return Slot(self)
        if len(self._line) >= self._queue:
            raise RequestError("E424", device=self.device, waiting=len(self._line))
        loop = asyncio.get_running_loop()
        begin = loop.time()
        turn: asyncio.Future[None] = loop.create_future()
        self._line.append(turn)
        try:
            async with asyncio.timeout_at(deadline):
                await turn
        except BaseException as error:
            if turn.done() and not turn.cancelled():
                self._release()
            elif turn in self._line:
                self._line.remove(turn)
            if isinstance(error, TimeoutError):
                raise deadline_exceeded("queue", begin, deadline) from None
            raise
        return Slot(self)

    def _release(self) -> None:
        while self._line:
            turn = self._line.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1


def deadline_exceeded(phase: str, begin: float, deadline: float | None) -> RequestError:
    """E417 for a phase of a request that began at `begin`."""
    allowed = max(0.0, (deadline or begin) - begin)
    return RequestError(
        "E417",
        phase=phase,
        limit=f"{allowed * 1e3:.0f} ms",
        setting="network.latency_budget_ms or the client's timeout",
    )
