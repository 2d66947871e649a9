"""Profiles that nodes and users upload: Chrome-trace JSON, kept as it came."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from rlx_base.errors import RequestError
from rlx_compile_api.blobs import BlobStore
from rlx_compile_api.database import Database
from rlx_compile_api.identifiers import new_id
from rlx_compile_api.repository.profiles import add_profile
from rlx_compile_api.tables import ProfileRow
from rlx_compile_api.uploads import save_body
from rlx_wire.api import Profile

__all__ = ["Profiles"]


class Profiles:
    """From a request to a stored profile."""

    def __init__(self, database: Database, blobs: BlobStore, clock: Callable[[], float]) -> None:
        self._database = database
        self._blobs = blobs
        self._clock = clock

    async def __call__(self, request: Request, model: str | None, note: str | None) -> Profile:
        """Raises E432 for another content type, E433 for what is not a trace."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise RequestError("E432", type=kind, expected="application/json")
        with self._blobs.scratch() as folder:
            path = folder / "profile.json"
            await save_body(request, path)
            return await run_in_threadpool(self._keep, path, model, note)

    def _keep(self, path: Path, model: str | None, note: str | None) -> Profile:
        _check_trace(path)
        with path.open("rb") as stream:
            blob = self._blobs.put(stream)
        now = self._clock()
        row = ProfileRow(
            id=new_id("profile", now),
            digest=blob.digest,
            bytes=blob.bytes,
            model=model,
            note=note,
            created_at=now,
        )
        return self._database.write(lambda session: add_profile(session, row))


def _check_trace(path: Path) -> None:
    """Both forms of the format: a list of events, or an object with `traceEvents`."""
    try:
        trace = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        raise RequestError("E433", what="a profile is JSON") from None
    events = trace.get("traceEvents") if isinstance(trace, dict) else trace
    if not isinstance(events, list):
        raise RequestError("E433", what="a profile holds `traceEvents`")
