"""Reading a bundle's shared library without a loader of its machine: segments, relocations, exported functions.

ELF64, little-endian, as LLD writes it for code that needs nothing from outside: the only relocations are relative.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

from rlx_base.errors import ArtifactError

__all__ = ["AARCH64", "RISCV64", "Image", "read_image"]

AARCH64: Final = 183
RISCV64: Final = 243
# "Base plus addend", by machine.
_RELATIVE: Final = {AARCH64: 1027, RISCV64: 3}
_LOAD, _DYNAMIC = 1, 2
_SYMTAB, _STRTAB, _RELA, _RELASZ, _HASH, _GNU_HASH = 6, 5, 7, 8, 4, 0x6FFFFEF5


@dataclass(frozen=True, slots=True)
class Image:
    """A library as it lies in memory at `base`, and its exported functions by address."""

    machine: int
    memory: bytes
    symbols: dict[str, int]


def read_image(data: bytes, base: int, name: str) -> Image:
    """Lays the segments out at `base` and relocates them. Raises E309 for what is no such library."""
    try:
        return _read(data, base, name)
    except (struct.error, IndexError, ValueError) as error:
        raise ArtifactError("E309", name=name, why=f"it is cut short or no ELF: {error}") from None


def _read(data: bytes, base: int, name: str) -> Image:
    if data[:6] != b"\x7fELF\x02\x01":
        raise ArtifactError("E309", name=name, why="it is no 64-bit little-endian ELF")
    machine, at = struct.unpack_from("<H", data, 18)[0], struct.unpack_from("<Q", data, 32)[0]
    size, count = struct.unpack_from("<HH", data, 54)
    headers = [struct.unpack_from("<IIQQQQQQ", data, at + i * size) for i in range(count)]
    loads = [row for row in headers if row[0] == _LOAD]
    memory = bytearray(max(row[3] + row[6] for row in loads))
    for _, _, offset, address, _, in_file, _, _ in loads:
        memory[address : address + in_file] = data[offset : offset + in_file]
    dynamic: dict[int, int] = {}
    for row in headers:
        if row[0] == _DYNAMIC:
            for place in range(row[3], row[3] + row[6], 16):
                tag, value = struct.unpack_from("<QQ", memory, place)
                dynamic.setdefault(tag, value)
    for place in range(dynamic.get(_RELA, 0), dynamic.get(_RELA, 0) + dynamic.get(_RELASZ, 0), 24):
        offset, info, addend = struct.unpack_from("<QQq", memory, place)
        if info != _RELATIVE.get(machine):
            raise ArtifactError("E309", name=name, why=f"it has a relocation of kind {info & 0xFFFFFFFF}")
        struct.pack_into("<Q", memory, offset, base + addend)
    return Image(machine, bytes(memory), _symbols(memory, dynamic, base))


def _symbols(memory: bytearray, dynamic: dict[int, int], base: int) -> dict[str, int]:
    """The symbol table has no length of its own; the strings follow it, or the table ends where one is not valid."""
    table, strings = dynamic[_SYMTAB], dynamic[_STRTAB]
    ends = [value for tag, value in dynamic.items() if tag in (_STRTAB, _RELA, _HASH, _GNU_HASH) and value > table]
    found = {}
    for place in range(table, min(ends) - 23, 24):
        name, _, _, section, value, _ = struct.unpack_from("<IBBHQQ", memory, place)
        if name and section:
            start = strings + name
            found[memory[start : memory.index(0, start)].decode()] = base + value
    return found
