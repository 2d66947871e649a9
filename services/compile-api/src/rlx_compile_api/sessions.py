"""Sessions of the page: a cookie instead of the key, which scripts cannot read and other sites cannot use."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Callable
from typing import Final

__all__ = ["COOKIE", "Sessions"]

COOKIE: Final = "rlx_session"
_SECONDS: Final = 12 * 3600


class Sessions:
    """A cookie is an end time and the id of a key, signed with the key of the settings. Nothing is stored: another key
    in the settings ends all sessions, and a revoked key those that began with it.
    """

    def __init__(self, key: str, clock: Callable[[], float] = time.time) -> None:
        self._key = key.encode()
        self._clock = clock

    @property
    def seconds(self) -> int:
        return _SECONDS

    def issue(self, id: str) -> str:
        """A cookie for whoever showed key `id`."""
        said = f"{int(self._clock()) + _SECONDS}.{id}"
        return f"{said}.{self._sign(said)}"

    def key_of(self, cookie: str) -> str | None:
        """The id of the key with which a session that still runs was begun."""
        said, _, signature = cookie.rpartition(".")
        if not hmac.compare_digest(signature.encode(), self._sign(said).encode()):
            return None
        end, _, id = said.partition(".")
        return id if self._clock() < int(end) else None

    def _sign(self, said: str) -> str:
        return hmac.new(self._key, f"session {said}".encode(), hashlib.sha256).hexdigest()
