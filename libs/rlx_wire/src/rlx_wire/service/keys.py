"""Who may ask: one key for all routes but health, or none on loopback."""

from __future__ import annotations

import hmac
from dataclasses import dataclass

from starlette.requests import HTTPConnection

from rlx_base.errors import RequestError

__all__ = ["KeyCheck", "bearer"]


@dataclass(frozen=True, slots=True)
class KeyCheck:
    """A dependency of every route: refuses with E418 a request without the key. `key=None` lets all pass."""

    key: str | None

    def __call__(self, connection: HTTPConnection) -> None:
        if self.key is None:
            return
        scheme, _, given = connection.headers.get("authorization", "").partition(" ")
        # The comparison takes the same time wherever the keys differ.
        if scheme.lower() != "bearer" or not hmac.compare_digest(given.strip().encode(), self.key.encode()):
            raise RequestError("E418")


def bearer(key: str | None) -> dict[str, str]:
    """The headers with which one service asks another."""
    return {} if key is None else {"Authorization": f"Bearer {key}"}
