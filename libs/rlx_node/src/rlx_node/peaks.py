"""The roofs of this node, measured at the first profile that asks and kept as long as the node lives."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from rlx_runtime import Peak, measure_peak

__all__ = ["Peaks"]

_log = logging.getLogger("rlx.node")


class Peaks:
    """`await peaks(threads)`: what so many threads reach here, or None where it cannot be measured."""

    def __init__(self, measure: Callable[[int], Peak] = measure_peak) -> None:
        self._measure = measure
        self._known: dict[int, asyncio.Task[Peak]] = {}

    async def __call__(self, threads: int) -> Peak | None:
        """Those who ask at the same time wait for one measurement, which ends though one of them goes away."""
        task = self._known.get(threads)
        if task is None:
            task = self._known[threads] = asyncio.create_task(asyncio.to_thread(self._measure, threads))
        try:
            return await asyncio.shield(task)
        except OSError as error:
            self._known.pop(threads, None)
            _log.warning("%s", error)
            return None
