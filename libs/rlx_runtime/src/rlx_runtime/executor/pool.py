"""Shared memory that is used again and again, and kept known to whichever process lives now."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from rlx_runtime.executor.process import ExecutorProcess
from rlx_runtime.executor.protocol import Drop, Map
from rlx_runtime.executor.segment import Segment

__all__ = ["PooledSegment", "SegmentPool"]


@dataclass(slots=True, eq=False)
class PooledSegment:
    """A segment with its number in messages and the process that was told of it."""

    memory: Segment
    number: int
    known_to: ExecutorProcess | None = None


class SegmentPool:
    """At most `keep` segments wait to be used again: memory stays flat however long a node runs."""

    def __init__(self, keep: int) -> None:
        self._keep = keep
        self._free: list[PooledSegment] = []
        self._numbers = itertools.count(1)
        self._closed = False

    def take(self, size: int, process: ExecutorProcess) -> PooledSegment:
        """A segment of at least `size` bytes that `process` knows: the smallest free one that fits, or a new one."""
        fitting = [free for free in self._free if size <= free.memory.size <= max(4 * size, 1 << 20)]
        if fitting:
            segment = min(fitting, key=lambda free: free.memory.size)
            self._free.remove(segment)
        else:
            segment = PooledSegment(Segment.create(size), next(self._numbers))
        if segment.known_to is not process:
            process.post(Map(segment.number, segment.memory.size), segment.memory.descriptor)
            segment.known_to = process
        return segment

    def give_back(self, segment: PooledSegment) -> None:
        """Keeps a segment for later; what is over the bound goes, the longest unused first."""
        self._free.append(segment)
        keep = 0 if self._closed else self._keep
        while len(self._free) > keep:
            surplus = self._free.pop(0)
            if surplus.known_to is not None:
                surplus.known_to.post(Drop(surplus.number))
            surplus.memory.close()

    def close(self) -> None:
        """Closes what is free; what is still in use is closed when it is given back."""
        self._closed = True
        for segment in self._free:
            segment.memory.close()
        self._free.clear()
