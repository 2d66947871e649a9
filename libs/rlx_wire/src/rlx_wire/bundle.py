"""Bundles on disk and on the wire: written whole or not at all, checked file by file, unpacked without trust.

A bundle is a directory of plain files beside its `manifest.json`. It travels as a *stored* zip with sorted
names and fixed times, so that packing the same bundle twice gives the same bytes. A file that the manifest
does not list (a signature, a profile) is left alone: nothing reads it, nothing packs it.
"""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import struct
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO, Final

from rlx_base.errors import ArtifactError
from rlx_wire.manifest import MANIFEST, MAX_MANIFEST_BYTES, FileEntry, Manifest

__all__ = [
    "UnpackLimits",
    "pack_bundle",
    "read_manifest",
    "stream_bundle",
    "unpack_bundle",
    "verify_bundle",
    "write_bundle",
]

_CHUNK: Final = 1 << 20
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)  # the first moment that a zip can name


@dataclass(frozen=True, slots=True)
class UnpackLimits:
    """What an archive from elsewhere may ask for at most."""

    entries: int = 64
    total_bytes: int = 16 << 30


def write_bundle(directory: Path, manifest: Manifest, files: Mapping[str, bytes | Path]) -> str:
    """Writes `files` and the manifest that lists them as `directory`, atomically; gives the bundle's digest.

    Readers see the old bundle, or none, or the whole new one. Raises E308 where `directory` holds something
    else.
    """
    with _appearing(directory) as fresh:
        entries = {}
        for name in sorted(files):
            source = files[name]
            with _opened(source) as stream:
                entries[name] = _store(fresh / name, stream)
        complete = Manifest.model_validate(dict(manifest) | {"files": entries})
        _store(fresh / MANIFEST, io.BytesIO(complete.to_bytes()))
    return complete.digest


def read_manifest(directory: Path) -> Manifest:
    """The manifest of a bundle directory; its files are not looked at. Raises E301, E302, E305."""
    try:
        with (directory / MANIFEST).open("rb") as stream:
            data = stream.read(MAX_MANIFEST_BYTES + 1)
    except OSError as error:
        raise ArtifactError("E301", source=directory, why=error.strerror or str(error)) from None
    return Manifest.from_bytes(data, str(directory))


def verify_bundle(directory: Path, expected_digest: str | None = None) -> Manifest:
    """Checks the digests of the bundle and of each file. Raises E301–E305: expected and found."""
    manifest = read_manifest(directory)
    if expected_digest is not None and manifest.digest != expected_digest:
        raise ArtifactError("E303", expected=expected_digest, found=manifest.digest)
    for name, expected in manifest.files.items():
        path = directory / name
        # A link could point anywhere, and at something else after this check.
        if path.is_symlink() or not path.is_file():
            raise ArtifactError("E304", name=name, expected="a plain file", found="none")
        with path.open("rb") as stream:
            _check(name, expected, _digest(stream))
    return manifest


def stream_bundle(directory: Path, output: BinaryIO) -> Manifest:
    """Writes the bundle's archive to `output` in constant memory: the manifest, then names in order."""
    manifest = read_manifest(directory)
    with zipfile.ZipFile(output, "w", zipfile.ZIP_STORED) as archive:
        for name in (MANIFEST, *sorted(manifest.files)):
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.create_system = 3
            entry.external_attr = 0o100644 << 16
            entry.file_size = (directory / name).stat().st_size
            with (directory / name).open("rb") as source, archive.open(entry, "w") as sink:
                shutil.copyfileobj(source, sink, _CHUNK)
    return manifest


def pack_bundle(directory: Path) -> bytes:
    """The bundle's archive as bytes; `stream_bundle` needs no such memory."""
    output = io.BytesIO()
    stream_bundle(directory, output)
    return output.getvalue()


def unpack_bundle(
    archive: bytes | Path | BinaryIO,
    directory: Path,
    expected_digest: str | None = None,
    limits: UnpackLimits | None = None,
) -> Manifest:
    """Unpacks an archive that may be hostile into `directory`, atomically, and checks every byte.

    Raises E307 for an archive that is not one of ours, E301–E305 for one whose contents do not match.
    """
    limits = limits or UnpackLimits()
    with _opened(archive) as stream:
        _refuse_large_directory(stream, limits)
        try:
            with zipfile.ZipFile(stream) as opened:
                return _unpack(opened, directory, expected_digest, limits)
        except (zipfile.BadZipFile, EOFError, NotImplementedError, ValueError, struct.error) as error:
            raise ArtifactError("E307", why=str(error) or "it ends too early") from None


def _unpack(archive: zipfile.ZipFile, directory: Path, expected_digest: str | None, limits: UnpackLimits) -> Manifest:
    entries = archive.infolist()
    if not entries or entries[0].filename != MANIFEST:
        raise ArtifactError("E307", why=f"{MANIFEST} is not its first entry")
    for entry in entries:
        if entry.compress_type != zipfile.ZIP_STORED or entry.compress_size != entry.file_size:
            raise ArtifactError("E307", why=f"{entry.filename!r} is compressed; bundles are stored")
        if entry.header_offset < 0:
            raise ArtifactError("E307", why=f"{entry.filename!r} begins before the archive")
        if entry.flag_bits & 0x1:
            raise ArtifactError("E307", why=f"{entry.filename!r} is encrypted")
    total = sum(entry.file_size for entry in entries)
    if total > limits.total_bytes:
        raise ArtifactError("E307", why=f"{total} bytes in it, at most {limits.total_bytes}")
    if entries[0].file_size > MAX_MANIFEST_BYTES:
        raise ArtifactError("E307", why=f"its manifest has {entries[0].file_size} bytes")
    manifest = Manifest.from_bytes(archive.read(entries[0]), "the archive")
    if expected_digest is not None and manifest.digest != expected_digest:
        raise ArtifactError("E303", expected=expected_digest, found=manifest.digest)
    # Exactly the listed names, once each, so no name needs a check of its own: the manifest's are safe.
    if [entry.filename for entry in entries[1:]] != sorted(manifest.files):
        raise ArtifactError("E307", why="its entries are not the files that the manifest lists, in order")
    with _appearing(directory) as fresh:
        for entry in entries[1:]:
            expected = manifest.files[entry.filename]
            if entry.file_size != expected.bytes:
                raise ArtifactError(
                    "E304",
                    name=entry.filename,
                    expected=f"{expected.bytes} bytes",
                    found=f"{entry.file_size} bytes",
                )
            with archive.open(entry) as source:
                _check(entry.filename, expected, _store(fresh / entry.filename, source))
        _store(fresh / MANIFEST, io.BytesIO(manifest.to_bytes()))
    return manifest


def _refuse_large_directory(stream: BinaryIO, limits: UnpackLimits) -> None:
    """Bounds the archive's list of entries *before* `zipfile` reads all of it into memory.

    Our archives end with the 22 bytes of the end record (and, beyond 4 GiB, the 20 + 56 bytes of its 64-bit
    forms before it).
    """
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(0, size - 98))
    tail = stream.read(98).rjust(98, b"\0")
    stream.seek(0)
    if tail[76:80] != b"PK\5\6" or tail[96:98] != b"\0\0":
        raise ArtifactError("E307", why="it is not a zip without comment")
    (directory_bytes,) = struct.unpack_from("<L", tail, 76 + 12)
    if tail[56:60] == b"PK\6\7":
        if tail[0:4] != b"PK\6\6":
            raise ArtifactError("E307", why="its 64-bit end record is not where its locator stands")
        (directory_bytes,) = struct.unpack_from("<Q", tail, 40)
    # 46 bytes and a name for each entry; 64-bit sizes take 32 more.
    if directory_bytes > limits.entries * (46 + 100 + 32):
        raise ArtifactError("E307", why=f"its directory has {directory_bytes} bytes")


@contextmanager
def _appearing(directory: Path) -> Iterator[Path]:
    """A new folder that takes the place of `directory` when the block ends well, and else vanishes."""
    directory = Path(os.path.abspath(directory))
    directory.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=f".{directory.name}.", dir=directory.parent))
    try:
        fresh.chmod(0o755)
        yield fresh
        _sync(fresh)
        _take_place(fresh, directory)
        _sync(directory.parent)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _take_place(fresh: Path, directory: Path) -> None:
    """Renames `fresh` to `directory`, over an empty folder or another bundle; the same one stays."""
    try:
        fresh.rename(directory)
    except OSError:
        # A rename replaces an empty folder only.
        if not (directory / MANIFEST).is_file():
            raise ArtifactError("E308", directory=directory) from None
    else:
        return
    if _same_bundle(directory, (fresh / MANIFEST).read_bytes()):
        return
    older = Path(tempfile.mkdtemp(prefix=f".{directory.name}.", dir=directory.parent))
    try:
        directory.rename(older)
        fresh.rename(directory)
    finally:
        shutil.rmtree(older, ignore_errors=True)


def _same_bundle(directory: Path, manifest: bytes) -> bool:
    """Whether `directory` holds this very bundle, whole: then another process was faster."""
    try:
        return verify_bundle(directory).to_bytes() == manifest
    except ArtifactError:
        return False


@contextmanager
def _opened(source: bytes | Path | BinaryIO) -> Iterator[BinaryIO]:
    if isinstance(source, bytes):
        yield io.BytesIO(source)
    elif isinstance(source, Path):
        with source.open("rb") as stream:
            yield stream
    else:
        yield source


def _store(path: Path, source: IO[bytes]) -> FileEntry:
    """Copies a stream to a new file that is on the disk when this returns, and tells what was written."""
    sha, size = hashlib.sha256(), 0
    with path.open("xb") as sink:
        while chunk := source.read(_CHUNK):
            sha.update(chunk)
            size += len(chunk)
            sink.write(chunk)
        sink.flush()
        os.fsync(sink.fileno())
    return FileEntry(sha256=sha.hexdigest(), bytes=size)


def _digest(stream: BinaryIO) -> FileEntry:
    sha, size = hashlib.sha256(), 0
    while chunk := stream.read(_CHUNK):
        sha.update(chunk)
        size += len(chunk)
    return FileEntry(sha256=sha.hexdigest(), bytes=size)


def _check(name: str, expected: FileEntry, found: FileEntry) -> None:
    if expected.bytes != found.bytes:
        raise ArtifactError("E304", name=name, expected=f"{expected.bytes} bytes", found=f"{found.bytes} bytes")
    if expected.sha256 != found.sha256:
        raise ArtifactError(
            "E304", name=name, expected=f"sha256 {expected.sha256[:12]}…", found=f"{found.sha256[:12]}…"
        )


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
