"""Who asks: callers by their keys.

A key is `rlx_ID_SECRET`: the id finds its row, the secret has 256 random bits. With so many, one SHA-256 of it is a
safe thing to store: nobody can try them out, so nothing is gained by a slow hash that every request would wait for.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from sqlmodel import Session

from rlx_compile_api.database import Database
from rlx_compile_api.identifiers import new_id
from rlx_compile_api.repository.keys import remove_key, shown
from rlx_compile_api.tables import KeyRow
from rlx_wire.access import KEY_FORM, KeyRequest, NewApiKey, Scope

__all__ = ["ROOT", "Caller", "Keys"]

_NOBODY: Final = "0" * 64
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, by the id of the key, and what the key opens."""

    id: str
    scopes: frozenset[Scope]


ROOT: Final = Caller("root", frozenset({"admin"}))
"""Whoever has the key of the settings; and everybody, where this service is open to its machine alone."""


class Keys:
    """The keys of this RLX. `bootstrap` is the one of the settings."""

    def __init__(self, database: Database, bootstrap: str | None, clock: Callable[[], float]) -> None:
        self._database = database
        self._bootstrap = None if bootstrap is None else bootstrap.encode()
        self._clock = clock

    def caller(self, key: str) -> Caller | None:
        """Whose key this is. Takes the same time wherever a wrong key differs from a right one."""
        if self._bootstrap is not None and hmac.compare_digest(key.encode(), self._bootstrap):
            return ROOT
        form = KEY_FORM.fullmatch(key)
        if form is None:
            return None
        row = self._row(f"key-{form[1]}")
        found = hmac.compare_digest(_digest(form[2]), _NOBODY if row is None else row.digest)
        return Caller(row.id, frozenset(row.scopes)) if row is not None and found else None

    def known(self, id: str) -> Caller | None:
        """The caller of a session that was begun with key `id`, while the key is there."""
        if id == ROOT.id:
            return ROOT
        row = self._row(id)
        return None if row is None else Caller(row.id, frozenset(row.scopes))

    def create(self, wanted: KeyRequest) -> NewApiKey:
        now, secret = self._clock(), secrets.token_hex(32)
        id = new_id("key", now)
        row = KeyRow(id=id, name=wanted.name, scopes=list(wanted.scopes), digest=_digest(secret), created_at=now)

        def work(session: Session) -> NewApiKey:
            session.add(row)
            session.flush()
            return NewApiKey(**dict(shown(row)), key=f"rlx_{id.removeprefix('key-')}_{secret}")

        made = self._database.write(work)
        log.info("key %s (%s) was made: %s", made.id, made.name, ", ".join(made.scopes))
        return made

    def revoke(self, id: str) -> None:
        """The key opens nothing from now on, nor do the sessions that began with it. Raises E430."""
        row = self._database.write(lambda session: remove_key(session, id))
        log.info("key %s (%s) was revoked", row.id, row.name)

    def _row(self, id: str) -> KeyRow | None:
        return self._database.read(lambda session: session.get(KeyRow, id))


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
