"""The safetensors format, read over a buffer and written to bytes.

8 bytes: the header's length N, little-endian. N bytes: a JSON object, name → {dtype, shape, data_offsets}, offsets
counted from the end of the header, and `__metadata__`, texts. Then the data, little-endian and row-major, without
gaps. A reader trusts nothing: sizes, offsets and overlaps are checked before a tensor is looked at.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rlx_base.dtypes import DTYPES, DType, of_numpy
from rlx_base.errors import TextError
from rlx_ir.constants.buffer import Buffer
from rlx_ir.elements import numpy_of

__all__ = ["Entry", "SafeTensors", "unpacked", "write_safetensors"]

MAX_HEADER_BYTES: Final = 16 << 20

# The format's own names; for integers of 4 and 2 bits, which it lacks, ours after the same pattern.
_DTYPES: Final[dict[str, str]] = {
    "BOOL": "bool",
    **{f"U{bits}": f"uint{bits}" for bits in (2, 4, 8, 16, 32, 64)},
    **{f"I{bits}": f"int{bits}" for bits in (2, 4, 8, 16, 32, 64)},
    **{f"F{bits}": f"float{bits}" for bits in (16, 32, 64)},
    "BF16": "bfloat16",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
    "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2FNUZ": "float8_e5m2fnuz",
    "F8_E8M0": "float8_e8m0fnu",
    "F4": "float4_e2m1fn",
}
_NAMES: Final = {dtype: name for name, dtype in _DTYPES.items()}


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a tensor stands in the data. Elements of less than a byte are packed, the first in the lowest bits."""

    dtype: DType
    shape: tuple[int, ...]
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class SafeTensors:
    """A file's tensors by name, and its data."""

    entries: Mapping[str, Entry]
    data: memoryview

    @staticmethod
    def read(name: str, content: Buffer) -> SafeTensors:
        """The tensors of a file's content. Raises TextError E043 where it is not well formed."""
        try:
            return _read(memoryview(content).cast("B").toreadonly())
        except _Malformed as why:
            raise TextError("E043", name=name, why=why) from None


class _Malformed(ValueError):
    pass


def _read(content: memoryview) -> SafeTensors:
    if len(content) < 8:
        raise _Malformed("it is shorter than its own header")
    size = int.from_bytes(content[:8], "little")
    if size > MAX_HEADER_BYTES or 8 + size > len(content):
        raise _Malformed("its header is longer than the file" if 8 + size > len(content) else "its header is too long")
    try:
        header = json.loads(bytes(content[8 : 8 + size]), object_pairs_hook=_unique)
    except (ValueError, RecursionError) as wrong:
        raise _Malformed(str(wrong) if isinstance(wrong, _Malformed) else "its header is not JSON") from None
    if not isinstance(header, dict):
        raise _Malformed("its header is not an object")
    data = content[8 + size :]
    entries = {name: _entry(name, fields) for name, fields in header.items() if name != "__metadata__"}
    end = 0
    for name, entry in sorted(entries.items(), key=lambda item: (item[1].begin, item[1].end)):
        if entry.begin != end:
            raise _Malformed(f"tensor {name!r} overlaps another or leaves a gap")
        end = entry.end
    if end != len(data):
        raise _Malformed(f"its tensors take {end} bytes and it holds {len(data)}")
    return SafeTensors(entries, data)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise _Malformed("its header names a tensor twice")
    return fields


def _entry(name: str, fields: Any) -> Entry:
    match fields:
        case {"dtype": str(dtype), "shape": list(shape), "data_offsets": [int(begin), int(end)]} if (
            len(fields) == 3 and dtype in _DTYPES and len(shape) <= 16 and all(_is_size(size) for size in shape)
        ):
            held = DTYPES[_DTYPES[dtype]]
            if _is_size(begin) and _is_size(end) and end - begin == -(-math.prod(shape) * held.bits // 8):
                return Entry(held, tuple(shape), begin, end)
    raise _Malformed(f"tensor {name[:80]!r} has no sensible dtype, shape and offsets")


def _is_size(value: object) -> bool:
    return type(value) is int and 0 <= value < 1 << 48


def write_safetensors(arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, str] | None = None) -> bytes:
    """A file's content: wide elements first, then by name, so that tensors are aligned and the bytes fixed."""
    order = sorted(arrays, key=lambda name: (-arrays[name].itemsize, name))
    header: dict[str, Any] = {"__metadata__": dict(sorted(metadata.items()))} if metadata else {}
    end = 0
    contents = {name: packed(arrays[name]) for name in order}
    for name in order:
        array = arrays[name]
        begin, end = end, end + len(contents[name])
        dtype = _NAMES[of_numpy(array.dtype).name]
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % 64)
    return b"".join((len(text).to_bytes(8, "little"), text, *contents.values()))


def packed(array: NDArray[Any]) -> bytes:
    """The elements, little-endian; those of less than a byte side by side."""
    dtype = of_numpy(array.dtype)
    if dtype.bits >= 8:
        little: NDArray[Any] = array.astype(array.dtype.newbyteorder("<"), copy=False)
        return little.tobytes()
    per_byte = 8 // dtype.bits
    bits = np.ascontiguousarray(array).reshape(-1).view(np.uint8) & ((1 << dtype.bits) - 1)
    rows = np.pad(bits, (0, -bits.size % per_byte)).reshape(-1, per_byte)
    shifted = rows << (np.arange(per_byte, dtype=np.uint8) * dtype.bits)
    joined: NDArray[np.uint8] = np.bitwise_or.reduce(shifted, axis=1).astype(np.uint8)
    return joined.tobytes()


def unpacked(data: Buffer, dtype: DType, shape: tuple[int, ...]) -> NDArray[Any]:
    """The elements of packed data: a view of it, but for those of less than a byte."""
    if dtype.bits >= 8:
        return np.frombuffer(data, numpy_of(dtype).newbyteorder("<")).reshape(shape)
    per_byte = 8 // dtype.bits
    shifts = np.arange(per_byte, dtype=np.uint8) * dtype.bits
    bits = (np.frombuffer(data, np.uint8)[:, None] >> shifts) & ((1 << dtype.bits) - 1)
    whole = bits.reshape(-1)[: math.prod(shape)]
    elements: NDArray[Any] = np.ascontiguousarray(whole).view(numpy_of(dtype)).reshape(shape)
    return elements
