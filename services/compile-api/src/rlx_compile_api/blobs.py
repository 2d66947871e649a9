"""The store of blobs and bundles on local disk: content-addressed, written aside, checked, then renamed.

```
tmp/                      what is being written; nothing reads it
blobs/ab/abcd…            a file of an upload, or a profile, by SHA-256
bundles/ab/abcd…/         bundle.zip and manifest.json, by the bundle's digest
```

A rename is the only way in, after an fsync: whatever is killed or pulled out, a name either has its whole content or
is not there. That a bundle lies here does not make it visible; its row in the database does.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import tempfile
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from rlx_base.errors import ClusterError
from rlx_wire.bundle import stream_bundle, unpack_bundle
from rlx_wire.manifest import MANIFEST, Manifest

__all__ = ["Blob", "BlobStore"]

_CHUNK: Final = 1 << 20
_ARCHIVE: Final = "bundle.zip"


@dataclass(frozen=True, slots=True)
class Blob:
    digest: str
    bytes: int


class BlobStore:
    """Raises E534 where the disk refuses, E533 where a file that a row promises is gone."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._moving = threading.Lock()  # nothing is removed while something goes in
        for name in ("tmp", "blobs", "bundles"):
            (folder / name).mkdir(parents=True, exist_ok=True)

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """A folder on the store's own disk for what is not complete yet; gone afterwards."""
        with self._writing():
            folder = Path(tempfile.mkdtemp(dir=self.folder / "tmp"))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def sweep(self) -> None:
        """Removes what a killed process left half written; called before anything is being written."""
        for left in (self.folder / "tmp").iterdir():
            shutil.rmtree(left, ignore_errors=True)

    # ── blobs ────────────────────────────────────────────────────────────────

    def put(self, source: BinaryIO) -> Blob:
        """Stores the bytes of `source` under their digest; those that are there already stay as they are."""
        digest, size = hashlib.sha256(), 0
        with self.scratch() as scratch, self._writing():
            fresh = scratch / "blob"
            with fresh.open("wb") as sink:
                while chunk := source.read(_CHUNK):
                    digest.update(chunk)
                    size += len(chunk)
                    sink.write(chunk)
                sink.flush()
                os.fsync(sink.fileno())
            self._settle(fresh, self._blob(digest.hexdigest()))
        return Blob(digest.hexdigest(), size)

    def blob(self, digest: str) -> Path:
        """The file of a blob. Raises E533."""
        return _there(self._blob(digest), digest)

    def has_blob(self, digest: str) -> bool:
        return self._blob(digest).is_file()

    # ── bundles ──────────────────────────────────────────────────────────────

    def put_bundle(self, archive: Path, digest: str) -> Manifest:
        """Checks every byte of an archive and stores it in canonical form. Raises E301–E307.

        `archive` may come from anybody: it is unpacked under bounds, verified, and packed anew.
        """
        with self.scratch() as scratch, self._writing():
            opened, fresh = scratch / "opened", scratch / "bundle"
            manifest = unpack_bundle(archive, opened, digest)
            fresh.mkdir()
            (fresh / MANIFEST).write_bytes(manifest.to_bytes())
            with (fresh / _ARCHIVE).open("wb") as sink:
                stream_bundle(opened, sink)
            for path in (fresh / MANIFEST, fresh / _ARCHIVE, fresh):
                _sync(path)
            self._settle(fresh, self._bundle(digest))
        return manifest

    def manifest(self, digest: str) -> Manifest:
        """The manifest of a stored bundle. Raises E533."""
        path = _there(self._bundle(digest) / MANIFEST, digest)
        return Manifest.from_bytes(path.read_bytes(), str(path))

    def archive(self, digest: str) -> Path:
        """The zip of a stored bundle. Raises E533."""
        return _there(self._bundle(digest) / _ARCHIVE, digest)

    def bundle_file(self, digest: str, name: str) -> Iterator[bytes] | None:
        """The bytes of one file of a bundle, piece by piece; None where it has no such file. Raises E533."""
        archive = zipfile.ZipFile(self.archive(digest))
        try:
            file = archive.open(name)
        except KeyError:
            archive.close()
            return None

        def pieces() -> Iterator[bytes]:
            with archive, file:
                while piece := file.read(_CHUNK):
                    yield piece

        return pieces()

    def has_bundle(self, digest: str) -> bool:
        return self._bundle(digest).is_dir()

    # ── what nobody needs any more ───────────────────────────────────────────

    def stored_before(self, moment: float) -> list[str]:
        """The digests of the blobs and bundles that last came in before `moment`, in seconds since 1970."""
        found = []
        for kind in ("blobs", "bundles"):
            for path in (self.folder / kind).glob("??/*"):
                with suppress(FileNotFoundError):
                    if path.stat().st_mtime < moment:
                        found.append(path.name)
        return sorted(found)

    def remove(self, digest: str, moment: float) -> int | None:
        """Removes a blob or bundle that came in before `moment`; its bytes, or None where it is gone or came again."""
        with self._moving:
            for path in (self._blob(digest), self._bundle(digest)):
                if path.exists() and path.stat().st_mtime < moment:
                    with self.scratch() as scratch:  # a name has its whole content or is not there
                        path.rename(scratch / "removed")
                        return _bytes(scratch / "removed")
        return None

    def _settle(self, fresh: Path, place: Path) -> None:
        """Renames `fresh` to `place`, for good: the name is on disk before anybody is told of it."""
        place.parent.mkdir(exist_ok=True)
        with self._moving:
            try:
                fresh.rename(place)
            except OSError as error:
                if error.errno not in {errno.ENOTEMPTY, errno.EEXIST}:  # a folder with this content is there already
                    raise
            os.utime(place)
        _sync(place.parent)
        _sync(place.parent.parent)

    def _blob(self, digest: str) -> Path:
        return self.folder / "blobs" / digest[:2] / digest

    def _bundle(self, digest: str) -> Path:
        return self.folder / "bundles" / digest[:2] / digest

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno not in {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO}:
                raise
            raise ClusterError("E534", reason=error.strerror, folder=self.folder) from error


def _there(path: Path, digest: str) -> Path:
    if not path.exists():
        raise ClusterError("E533", digest=digest)
    return path


def _bytes(path: Path) -> int:
    files = path.iterdir() if path.is_dir() else (path,)
    return sum(file.stat().st_size for file in files)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
