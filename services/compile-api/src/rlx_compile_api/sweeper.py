"""Removes blobs and bundles that no row names: what refused, repeated and lost uploads leave in the store.

A file goes only when it is older than an upload can last and no row names it. What an upload brings again is young
again, under the lock that files are removed under, so nothing that is being taken in is ever removed.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass

from sqlmodel import Session, col, select

from rlx_compile_api.blobs import BlobStore
from rlx_compile_api.database import Database
from rlx_compile_api.tables import ArtifactRow, ProfileRow, VersionRow

__all__ = ["Sweeper", "Swept"]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Swept:
    """What was removed."""

    files: int
    bytes: int


class Sweeper:
    """`run` until `stop`: at the start, then every `interval` seconds. `grace`: the age from which a file goes."""

    def __init__(
        self, database: Database, blobs: BlobStore, clock: Callable[[], float], *, interval: float, grace: float
    ) -> None:
        self._database = database
        self._blobs = blobs
        self._clock = clock
        self._interval = interval
        self._grace = grace
        self._stop = threading.Event()

    def stop(self) -> None:
        self._stop.set()

    def run(self) -> None:
        while True:
            try:
                self.sweep()
            except Exception:
                log.exception("the store could not be swept, trying again later")
            if self._stop.wait(self._interval):
                return

    def sweep(self) -> Swept:
        """Removes what is old and named by no row."""
        before = self._clock() - self._grace
        old = self._blobs.stored_before(before)
        # Read after the files were listed: what is named later than this was stored later, or again, and is young.
        named = self._database.read(_named) if old else frozenset()
        sizes = [self._blobs.remove(digest, before) for digest in old if digest not in named]
        removed = [size for size in sizes if size is not None]
        if removed:
            log.info("%d files that nothing names were removed: %d bytes", len(removed), sum(removed))
        return Swept(len(removed), sum(removed))


def _named(session: Session) -> frozenset[str]:
    sources = (file["digest"] for source in session.exec(select(VersionRow.source)) for file in source)
    profiles = session.exec(select(col(ProfileRow.digest)))
    bundles = session.exec(select(col(ArtifactRow.digest)))
    return frozenset((*sources, *profiles, *bundles))
