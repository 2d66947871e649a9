"""Reading a library of another machine: what is no such library is refused in words, never with a traceback."""

import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlx_base.errors import ArtifactError
from rlx_runtime.elf import AARCH64, read_image

BASE = 0x10000


def library(relocation: int = 1027) -> bytes:
    """The least ELF with one symbol, one relocation and four bytes of code at address 0x200."""
    strings = b"\0rlx_main\0"
    symbols = bytes(24) + struct.pack("<IBBHQQ", 1, 0x12, 0, 1, 0x200, 4)
    relocations = struct.pack("<QQq", 0x208, relocation, 0x200)
    at_symbols, at_strings = 0x100, 0x100 + len(symbols)
    at_relocations, at_dynamic = 0x160, 0x180
    tags = [(6, at_symbols), (5, at_strings), (7, at_relocations), (8, len(relocations)), (0, 0)]
    dynamic = b"".join(struct.pack("<QQ", tag, value) for tag, value in tags)
    size, start = 0x210, 0x200
    head = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 3, AARCH64, 1, 0, 64, 0, 0, 64, 56, 2, 0, 0, 0)
    load = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, size, size, 4096)
    dynamics = struct.pack("<IIQQQQQQ", 2, 6, at_dynamic, at_dynamic, 0, len(dynamic), len(dynamic), 8)
    memory = bytearray(size)
    parts = {0: head + load + dynamics, at_symbols: symbols, at_strings: strings, at_relocations: relocations}
    for at, data in (parts | {at_dynamic: dynamic, start: b"code"}).items():
        memory[at : at + len(data)] = data
    return bytes(memory)


def test_segments_symbols_and_relocations_lie_at_the_base() -> None:
    image = read_image(library(), BASE, "a.so")
    assert image.machine == AARCH64
    assert image.symbols == {"rlx_main": BASE + 0x200}
    assert image.memory[0x200:0x204] == b"code"
    assert struct.unpack_from("<Q", image.memory, 0x208) == (BASE + 0x200,)


def test_a_relocation_that_needs_another_library_is_refused() -> None:
    with pytest.raises(ArtifactError, match=r"E309.*relocation of kind 1025"):
        read_image(library(relocation=1025), BASE, "a.so")


@given(st.integers(0, len(library()) - 1))
def test_a_library_cut_short_is_refused_or_whole(length: int) -> None:
    # Anything but these two is the test's failure.
    with suppress(ArtifactError):
        assert read_image(library()[:length], BASE, "a.so").symbols == {"rlx_main": BASE + 0x200}


@given(st.binary(max_size=200))
def test_bytes_that_are_no_library_are_refused(data: bytes) -> None:
    with pytest.raises(ArtifactError, match="E309"):
        read_image(b"\x7fELF\x02\x01" + data if len(data) > 100 else data, BASE, "a.so")
