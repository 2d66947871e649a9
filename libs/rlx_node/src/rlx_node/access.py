"""Whom the keys of this RLX's users belong to: compile-api has made them, and is asked what one opens.

An answer is kept for some seconds, so that a client costs one question and not one a request; a key that was revoked
opens this node for no longer than that.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import httpx
from pydantic import ValidationError

from rlx_base.errors import ClusterError
from rlx_wire.access import KEY_FORM, Access, Scope
from rlx_wire.service.keys import bearer

__all__ = ["KEPT_SECONDS", "AskedKeys"]

KEPT_SECONDS = 10.0
_MOST_KEPT = 1024


class AskedKeys:
    """What a key opens, as compile-api at `url` says. Raises E506 where it cannot be asked."""

    def __init__(self, url: str, http: httpx.AsyncClient, clock: Callable[[], float]) -> None:
        self._url = url.rstrip("/")
        self._http = http
        self._clock = clock
        self._kept: dict[bytes, tuple[float, frozenset[Scope] | None]] = {}

    async def __call__(self, key: str) -> frozenset[Scope] | None:
        """The scopes of a key; None for one that nobody has."""
        if KEY_FORM.fullmatch(key) is None:
            return None
        # By its digest: neither the memory of this process nor the time of a look-up tells of the key.
        name, now = hashlib.sha256(key.encode()).digest(), self._clock()
        known = self._kept.get(name)
        if known is not None and now - known[0] < KEPT_SECONDS:
            return known[1]
        scopes = await self._ask(key)
        while len(self._kept) >= _MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        self._kept.pop(name, None)
        self._kept[name] = now, scopes
        return scopes

    async def _ask(self, key: str) -> frozenset[Scope] | None:
        try:
            answer = await self._http.get(f"{self._url}/v1/session", headers=bearer(key), timeout=5)
            if answer.status_code == 401:
                return None
            return frozenset(Access.model_validate_json(answer.raise_for_status().content).scopes)
        except (httpx.HTTPError, ValidationError) as error:
            raise ClusterError("E506", url=self._url, reason=str(error) or type(error).__name__) from error
