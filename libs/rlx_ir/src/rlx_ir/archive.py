"""`.rlxz`: a model with its weights in one file, a zip of `model.rlx`, safetensors files and `manifest.json`.

Everything is checked before anything is unpacked: number, names, sizes, places and compression ratios of the
entries. What is stored plainly (as `write_rlxz` does) is a view of the given bytes, so weights stay where they are,
in memory or in a memory-mapped file. The manifest's digests are checked for every file.
"""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import Any, Final
from zipfile import ZIP_STORED, ZipFile, ZipInfo

from rlx_base.errors import TextError
from rlx_ir.constants.buffer import Buffer
from rlx_ir.constants.stored import check_file_name
from rlx_ir.text.lexing import decode

__all__ = ["ArchiveLimits", "Package", "read_rlxz", "write_rlxz"]

FORMAT_VERSION: Final = 1
TEXT: Final = "model.rlx"
MANIFEST: Final = "manifest.json"

_END: Final = struct.Struct("<4s4H2IH")
_CENTRAL: Final = struct.Struct("<4s6H3I5H2I")
_LOCAL: Final = struct.Struct("<4s5H3I2H")
_EXTRA: Final = struct.Struct("<2H")
_PADDING: Final = 0xD935  # the id that Android's zipalign uses
_STORED: Final = 0
_DEFLATED: Final = 8


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """How large an archive may unpack to. `ratio` is unpacked bytes per packed byte."""

    entries: int = 256
    bytes: int = 4 << 30
    text_bytes: int = 4 << 20
    ratio: int = 100


DEFAULT_LIMITS: Final = ArchiveLimits()


@dataclass(frozen=True, slots=True)
class Package:
    """A model's text and the files beside it."""

    text: str
    files: Mapping[str, memoryview]

    def resolver(self, name: str, /) -> memoryview:
        """The bytes of a file beside the text. Raises E042 where there is none."""
        if name not in self.files:
            raise TextError("E042", name=name)
        return self.files[name]


@dataclass(frozen=True, slots=True)
class _Entry:
    name: str
    method: int
    packed: int
    size: int
    offset: int  # of the local header


class _Malformed(ValueError):
    pass


def read_rlxz(content: Buffer, limits: ArchiveLimits = DEFAULT_LIMITS) -> Package:
    """The model in an archive. Raises TextError E041, E050, E051, E052 where it is refused."""
    view = memoryview(content).cast("B").toreadonly()
    try:
        entries = list(_entries(view, limits))
        _check_sizes(entries, limits)
        files = {entry.name: _content(view, entry, data) for entry, data in _places(view, entries)}
        for name in (TEXT, MANIFEST):
            if name not in files:
                raise _Malformed(f"it holds no {name}")
        manifest = files.pop(MANIFEST)
        _check_digests(_digests(manifest), files)
    except (_Malformed, struct.error, zlib.error) as why:
        raise TextError("E050", why=why) from None
    return Package(decode(bytes(files.pop(TEXT)), TEXT), files)


def _entries(view: memoryview, limits: ArchiveLimits) -> Iterator[_Entry]:
    """The central directory, which has to end exactly where the archive's last record begins."""
    if len(view) < _END.size:
        raise _Malformed("it is too short")
    end = len(view) - _END.size
    magic, disk, first_disk, here, total, size, offset, comment = _END.unpack(view[end:])
    if magic != b"PK\x05\x06" or disk or first_disk or here != total or comment or offset + size != end:
        raise _Malformed("its last record is not that of a plain zip without a comment")
    if total > limits.entries:
        raise TextError("E051", what=f"{total} entries", limit=limits.entries)
    position = offset
    for _ in range(total):
        if position + _CENTRAL.size > end:
            raise _Malformed("its directory is cut short")
        (magic, _, _, flags, method, _, _, _, packed, unpacked, names, extra, remark, disk, _, _, local) = (
            _CENTRAL.unpack(view[position : position + _CENTRAL.size])
        )
        position += _CENTRAL.size
        name = bytes(view[position : position + names])
        position += names + extra + remark
        if magic != b"PK\x01\x02" or disk or flags & ~0x0806 or method not in (_STORED, _DEFLATED) or position > end:
            raise _Malformed("an entry is encrypted, streamed, split or of an unknown compression")
        if method == _STORED and packed != unpacked:
            raise _Malformed("a stored entry has two sizes")
        yield _Entry(check_file_name(name.decode("ascii", "replace")), method, packed, unpacked, local)
    if position != end:
        raise _Malformed("its directory holds more than its entries")


def _check_sizes(entries: list[_Entry], limits: ArchiveLimits) -> None:
    if len({entry.name for entry in entries}) != len(entries):
        raise _Malformed("it names a file twice")
    total = sum(entry.size for entry in entries)
    if total > limits.bytes:
        raise TextError("E051", what=f"it unpacks to {total} bytes", limit=limits.bytes)
    for entry in entries:
        if entry.name in (TEXT, MANIFEST) and entry.size > limits.text_bytes:
            raise TextError("E051", what=f"{entry.name} has {entry.size} bytes", limit=limits.text_bytes)
        if entry.size > limits.ratio * max(1, entry.packed):
            ratio = f"{entry.name} is packed {entry.size // max(1, entry.packed)} to 1"
            raise TextError("E051", what=ratio, limit=f"{limits.ratio} to 1")


def _places(view: memoryview, entries: list[_Entry]) -> Iterator[tuple[_Entry, memoryview]]:
    """Each entry's packed bytes; no two may overlap, which is how small archives unpack to huge ones."""
    free = 0
    for entry in sorted(entries, key=lambda entry: entry.offset):
        start = entry.offset
        if start < free or start + _LOCAL.size > len(view):
            raise _Malformed("entries overlap")
        magic, _, _, method, _, _, _, _, _, names, extra = _LOCAL.unpack(view[start : start + _LOCAL.size])
        start += _LOCAL.size
        name = bytes(view[start : start + names])
        start += names + extra
        free = start + entry.packed
        if magic != b"PK\x03\x04" or method != entry.method or name != entry.name.encode() or free > len(view):
            raise _Malformed(f"entry {entry.name} and the directory differ")
        yield entry, view[start:free]


def _content(view: memoryview, entry: _Entry, packed: memoryview) -> memoryview:
    if entry.method == _STORED:
        return packed
    unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
    content = unpacker.decompress(packed, entry.size + 1)
    if len(content) != entry.size or not unpacker.eof:
        raise _Malformed(f"{entry.name} does not unpack to its size")
    return memoryview(content)


def _digests(manifest: memoryview) -> dict[str, str]:
    try:
        fields: Any = json.loads(bytes(manifest))
    except (ValueError, RecursionError):
        raise _Malformed("its manifest is not JSON") from None
    match fields:
        case {"format_version": int(version)} if version != FORMAT_VERSION:
            raise _Malformed(f"it has format version {version}, and this RLX reads {FORMAT_VERSION}")
        case {"format_version": 1, "files": dict(files)} if all(isinstance(d, str) for d in files.values()):
            return files
    raise _Malformed("its manifest has no format_version and files")


def _check_digests(expected: dict[str, str], files: Mapping[str, memoryview]) -> None:
    if expected.keys() != files.keys():
        raise _Malformed("its manifest lists other files than it holds")
    for name, content in files.items():
        found = hashlib.sha256(content).hexdigest()
        if found != expected[name]:
            raise TextError("E052", name=name, found=found, expected=expected[name][:64])


def write_rlxz(text: str, files: Mapping[str, Buffer]) -> bytes:
    """An archive of a text and the files that it names; equal contents give equal bytes."""
    parts: dict[str, Buffer] = {TEXT: text.encode(), **{check_file_name(name): files[name] for name in sorted(files)}}
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in parts.items()}
    manifest = json.dumps({"files": digests, "format_version": FORMAT_VERSION}, sort_keys=True, separators=(",", ":"))
    out = BytesIO()
    with ZipFile(out, "w", ZIP_STORED, allowZip64=False) as archive:
        for name, content in {MANIFEST: manifest.encode() + b"\n", **parts}.items():
            info = ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.create_system = 3
            # An empty extra field brings the content to a multiple of 64 bytes: weights are read where they lie.
            gap = -(out.tell() + _LOCAL.size + len(name) + _EXTRA.size) % 64
            info.extra = _EXTRA.pack(_PADDING, gap) + bytes(gap)
            archive.writestr(info, bytes(content))
    return out.getvalue()
