"""How often one caller may ask: a token bucket for each."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

__all__ = ["Rates"]

_CALLERS: Final = 4096


@dataclass(slots=True)
class _Bucket:
    tokens: float
    seen: float


class Rates:
    """`per_second` requests a second from one caller, after `burst` at once; 0 a second: as many as they like.

    Callers that have been silent longest are forgotten first, so strangers with many addresses fill no memory.
    """

    def __init__(self, per_second: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.per_second = per_second
        self._burst = float(burst)
        self._clock = clock
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def wait(self, caller: str) -> float:
        """0 where the request may pass, which counts it; else the seconds after which it could."""
        if self.per_second <= 0:
            return 0.0
        now = self._clock()
        bucket = self._buckets.setdefault(caller, _Bucket(self._burst, now))
        self._buckets.move_to_end(caller)
        if len(self._buckets) > _CALLERS:
            self._buckets.popitem(last=False)
        bucket.tokens = min(self._burst, bucket.tokens + (now - bucket.seen) * self.per_second)
        bucket.seen = now
        if bucket.tokens < 1:
            return (1 - bucket.tokens) / self.per_second
        bucket.tokens -= 1
        return 0.0
