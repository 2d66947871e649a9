"""How long each part of a request may take."""

from __future__ import annotations

from dataclasses import dataclass

import httpx

__all__ = ["Timeouts"]

# The service itself says in which phase a request was late; its answer needs a moment to arrive.
_GRACE_S = 0.5


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds to connect, for each stretch of a transfer without progress, and for the computation of an inference."""

    connect: float = 5.0
    transfer: float = 60.0
    compute: float = 30.0

    def transferring(self) -> httpx.Timeout:
        return httpx.Timeout(self.transfer, connect=self.connect)

    def computing(self) -> httpx.Timeout:
        return httpx.Timeout(self.transfer, connect=self.connect, read=self.compute + _GRACE_S)
