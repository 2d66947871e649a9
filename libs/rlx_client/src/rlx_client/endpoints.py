"""Which address is asked next: turn by turn, and those that failed a moment ago last."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence

__all__ = ["Endpoints"]

_REST_S = 5.0


class Endpoints:
    """The addresses of one RLX. Every call begins with another one."""

    def __init__(self, urls: Sequence[str], clock: Callable[[], float] = time.monotonic) -> None:
        if not urls:
            raise ValueError("name at least one endpoint")
        self._urls = tuple(url.rstrip("/") for url in urls)
        self._clock = clock
        self._turn = itertools.count()
        self._resting: dict[str, float] = {}

    def order(self) -> list[str]:
        """All of them, in the order in which to try."""
        first = next(self._turn) % len(self._urls)
        turned = self._urls[first:] + self._urls[:first]
        now = self._clock()
        return sorted(turned, key=lambda url: self._resting.get(url, now) > now)

    def failed(self, url: str) -> None:
        self._resting[url] = self._clock() + _REST_S

    def worked(self, url: str) -> None:
        self._resting.pop(url, None)
