"""How loaded this node is: what its heartbeat reports."""

from __future__ import annotations

from collections.abc import Callable

from rlx_node.holdings import Holdings
from rlx_runtime.cgroup import memory
from rlx_wire.nodes import NodeStatus

__all__ = ["Level"]

_WINDOW_S = 0.25


class Level:
    """Measures utilisation between reports; the rest is read when it is asked for."""

    def __init__(self, holdings: Holdings, clock: Callable[[], float]) -> None:
        self._holdings = holdings
        self._clock = clock
        self._since = clock()
        self._computed_ns = 0
        self._utilisation = 0.0

    def status(self, incarnation: int, sequence: int, draining: bool) -> NodeStatus:
        total, used = memory()
        return NodeStatus(
            incarnation=incarnation,
            sequence=sequence,
            queue_depth=self._holdings.queue_depth,
            running=self._holdings.running,
            memory_used_bytes=used,
            memory_bytes=total,
            utilisation=self._measure(),
            loaded=self._holdings.loaded(),
            draining=draining,
        )

    def _measure(self) -> float:
        """The share of the last stretch of time in which the devices computed."""
        now, computed = self._clock(), self._holdings.computed_ns
        if now - self._since >= _WINDOW_S:
            busy = (computed - self._computed_ns) / 1e9
            self._utilisation = min(1.0, busy / (now - self._since))
            self._since, self._computed_ns = now, computed
        return self._utilisation
