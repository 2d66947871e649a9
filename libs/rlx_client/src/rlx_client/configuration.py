"""What both clients are built from: arguments first, then `RLX_ENDPOINT` and `RLX_API_KEY`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rlx_client.endpoints import Endpoints
from rlx_client.timeouts import Timeouts

__all__ = ["FINAL", "Configuration"]

FINAL: Final = frozenset({"succeeded", "failed", "cancelled"})
"""The states in which a job has ended."""

_DEFAULT: Final = "http://127.0.0.1:8000"


@dataclass(frozen=True, slots=True)
class Configuration:
    """Addresses, times and the key."""

    endpoints: Endpoints
    timeouts: Timeouts
    headers: dict[str, str]

    @classmethod
    def of(cls, endpoints: Sequence[str], timeout: float | Timeouts | None, api_key: str | None) -> Configuration:
        """`timeout` as one number is that of the computation; `RLX_ENDPOINT` may hold several URLs with commas."""
        urls = list(endpoints) or os.environ.get("RLX_ENDPOINT", _DEFAULT).split(",")
        key = api_key if api_key is not None else os.environ.get("RLX_API_KEY")
        timeouts = timeout if isinstance(timeout, Timeouts) else Timeouts()
        if isinstance(timeout, int | float):
            timeouts = Timeouts(compute=float(timeout))
        return cls(
            Endpoints([url.strip() for url in urls]),
            timeouts,
            {} if not key else {"Authorization": f"Bearer {key}"},
        )
