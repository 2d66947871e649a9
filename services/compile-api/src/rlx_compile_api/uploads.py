"""The files of an upload: taken in, checked by name, read by the inspector, kept as a version, and read again."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.requests import Request

from rlx_base.errors import RequestError
from rlx_compile_api.blobs import BlobStore
from rlx_compile_api.database import Database
from rlx_compile_api.inspection import Inspector
from rlx_compile_api.repository.models import add_version, get_version
from rlx_wire.api import ModelVersion, Program, SourceFile

__all__ = ["Programs", "Uploads", "save_body"]

_PLAIN: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
_CHUNK: Final = 1 << 20
_MAX_FILES: Final = 64
_PROGRAMS: Final = frozenset({".rlx", ".rlxz"})
_ARCHIVES: Final = frozenset({"application/zip", "application/octet-stream", "application/vnd.rlx.rlxz"})


class Uploads:
    """From a request to a version of a model."""

    def __init__(self, database: Database, blobs: BlobStore, inspector: Inspector, clock: Callable[[], float]) -> None:
        self._database = database
        self._blobs = blobs
        self._inspector = inspector
        self._clock = clock

    async def __call__(self, model: str, request: Request) -> tuple[ModelVersion, bool]:
        """The version, and whether it is new.

        Raises E432 for another content type, E436 for files that do not belong together, E437 for a program that
        takes too much to read, and `Refused` for one that does not hold together.
        """
        with self._blobs.scratch() as folder:
            main = await self._receive(request, folder)
            return await run_in_threadpool(self._keep, model, main)

    async def _receive(self, request: Request, folder: Path) -> Path:
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind in _ARCHIVES:
            main = folder / "model.rlxz"
            await save_body(request, main)
            return main
        if kind != "multipart/form-data":
            raise RequestError("E432", type=kind, expected="multipart/form-data, or an .rlxz as application/zip")
        async with request.form(max_files=_MAX_FILES, max_fields=0) as form:
            mains = [await _save(part, folder) for part in form.getlist("model")]
            for part in form.getlist("weights"):
                await _save(part, folder)
            strange = sorted(set(form) - {"model", "weights"})
        if strange:
            raise RequestError("E436", what=f"there is no field {strange[0]!r}")
        if len(mains) != 1 or mains[0].suffix not in _PROGRAMS:
            names = ", ".join(path.name for path in mains) or "none"
            raise RequestError("E436", what=f"one `model` that ends in .rlx or .rlxz is needed, not {names}")
        return mains[0]

    def _keep(self, model: str, main: Path) -> tuple[ModelVersion, bool]:
        program = self._inspector(main)
        source = []
        for path in sorted(main.parent.iterdir()):
            with path.open("rb") as stream:
                blob = self._blobs.put(stream)
            source.append(SourceFile(name=path.name, digest=blob.digest, bytes=blob.bytes))
        now = self._clock()
        return self._database.write(lambda session: add_version(session, model, program, tuple(source), now))


class Programs:
    """A version's program, read again from the files that it was uploaded as."""

    def __init__(self, database: Database, blobs: BlobStore, inspector: Inspector) -> None:
        self._database = database
        self._blobs = blobs
        self._inspector = inspector

    def __call__(self, model: str, version: int) -> Program:
        """Raises E430 for a version that is not there, E437 for a program that takes too much to read."""
        source = self._database.read(lambda session: get_version(session, model, version)).source
        with self._blobs.scratch() as folder:
            for file in source:
                (folder / file.name).symlink_to(self._blobs.blob(file.digest).absolute())
            [main] = [file.name for file in source if Path(file.name).suffix in _PROGRAMS]
            return self._inspector.program(folder / main)


async def save_body(request: Request, path: Path) -> None:
    """Writes the body to a file as it comes in."""
    with path.open("wb") as sink:
        async for chunk in request.stream():
            await run_in_threadpool(sink.write, chunk)


async def _save(part: UploadFile | str, folder: Path) -> Path:
    if isinstance(part, str) or not _PLAIN.fullmatch(part.filename or ""):
        name = part if isinstance(part, str) else part.filename
        raise RequestError("E436", what=f"{name!r} is not a plain file name")
    path = folder / str(part.filename)
    if path.exists():
        raise RequestError("E436", what=f"two files are called {path.name!r}")
    with path.open("wb") as sink:
        while chunk := await part.read(_CHUNK):
            await run_in_threadpool(sink.write, chunk)
    return path
