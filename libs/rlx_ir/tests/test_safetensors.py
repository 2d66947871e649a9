"""Weights beside the text: read without copies, and without trust."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlx_base.dtypes import DTYPES, DType
from rlx_base.errors import RlxError, TextError
from rlx_ir import parse, print_module
from rlx_ir.constants import Files
from rlx_ir.constants.safetensors import SafeTensors, write_safetensors
from rlx_ir.elements import numpy_of

WEIGHTS = {
    "w": np.arange(6, dtype=np.float32).reshape(2, 3),
    "mask": np.array([True, False]),
    "scalar": np.array(7, np.int64),
    "none": np.zeros((0, 4), np.float16),
}
TEXT = """
@rlx.module
def main():
    w = rlx.constant(file="a/w.safetensors", key="{key}", layout="{layout}")
    return w
"""


def resolver(content: bytes) -> Callable[[str], bytes]:
    def resolve(name: str, /) -> bytes:
        if name != "a/w.safetensors":
            raise TextError("E042", name=name)
        return content

    return resolve


def raw(header: Any, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def test_a_constant_is_a_view_of_its_file() -> None:
    content = bytearray(write_safetensors(WEIGHTS, {"made": "here"}))
    module = parse(TEXT.format(key="w", layout="CR"), resolver=lambda _: content)
    (constant,) = module.constants
    np.testing.assert_array_equal(constant.array(), WEIGHTS["w"])
    assert constant.type.shape == (2, 3)
    assert np.shares_memory(constant.array(), np.frombuffer(content, np.uint8))
    assert not constant.array().flags.writeable
    assert parse(print_module(module), resolver=lambda _: content) == module


def test_every_tensor_that_is_written_is_read_back() -> None:
    content = write_safetensors(WEIGHTS)
    assert content == write_safetensors(dict(reversed(WEIGHTS.items())))
    read = SafeTensors.read("f", content)
    assert read.entries.keys() == WEIGHTS.keys()
    for name, array in WEIGHTS.items():
        entry = read.entries[name]
        assert entry.dtype is not None
        assert (entry.shape, entry.dtype.name) == (array.shape, array.dtype.name)
        assert bytes(read.data[entry.begin : entry.end]) == array.tobytes()
    header = int.from_bytes(content[:8], "little")
    assert (8 + header) % 64 == 0


def test_a_tensor_at_an_odd_address_is_still_readable() -> None:
    header = {
        "w": {"dtype": "F32", "shape": [1], "data_offsets": [1, 5]},
        "b": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]},
    }
    content = raw(header, b"\x01" + np.float32(2.5).tobytes())
    array = (
        parse(TEXT.format(key="w", layout="N").replace(', layout="N"', ""), resolver=lambda _: content)
        .constants[0]
        .array()
    )
    assert array.flags.aligned
    assert array.tolist() == [2.5]


ONE = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00" * 7,
        (1 << 40).to_bytes(8, "little"),
        raw(b"nonsense"),
        raw(b"[" * 100_000),
        raw([]),
        raw(b'{"w": %s, "w": %s}' % ((json.dumps(ONE).encode(),) * 2), b"1234"),
        raw({"w": ONE}, b"123"),
        raw({"w": ONE}, b"12345"),
        raw({"w": ONE | {"dtype": "F33"}}, b"1234"),
        raw({"w": ONE | {"shape": [2]}}, b"1234"),
        raw({"w": ONE | {"shape": [-1]}}, b"1234"),
        raw({"w": ONE | {"shape": [True]}}, b"1234"),
        raw({"w": ONE | {"shape": [1 << 62, 1 << 62]}}, b"1234"),
        raw({"w": ONE | {"data_offsets": [4, 0]}}, b"1234"),
        raw({"w": ONE | {"data_offsets": [-4, 0]}}, b"1234"),
        raw({"w": ONE | {"extra": 1}}, b"1234"),
        raw({"w": ONE, "v": ONE}, b"1234"),
        raw({"w": ONE, "v": ONE | {"data_offsets": [6, 10]}}, b"1234567890"),
        raw({"w": 5}, b""),
    ],
)
def test_a_malformed_file_is_refused(content: bytes) -> None:
    with pytest.raises(RlxError) as caught:
        parse(TEXT.format(key="w", layout="CR"), resolver=resolver(content))
    assert caught.value.code == "RLX-E043"
    assert caught.value.at is not None


NARROW = [dtype for dtype in DTYPES.values() if dtype.numpy is None]


@pytest.mark.parametrize("dtype", NARROW, ids=str)
@pytest.mark.parametrize("size", [0, 1, 7, 16])
def test_small_elements_are_packed_and_come_back(dtype: DType, size: int) -> None:
    numbers = np.arange(size) % 5 - (2 if dtype.kind == "int" else 0)
    elements = numbers.astype(np.float32 if dtype.is_float else np.int8).astype(numpy_of(dtype)).reshape(1, size)
    content = write_safetensors({"w": elements})
    file = SafeTensors.read("f", content)
    entry = file.entries["w"]
    assert entry.end - entry.begin == -(-size * dtype.bits // 8)
    back = Files(lambda name: memoryview(content)).tensor("f", "w").array()
    assert back.dtype == elements.dtype
    np.testing.assert_array_equal(back.view(np.uint8), elements.view(np.uint8))


@given(st.binary(max_size=60))
def test_any_bytes_give_tensors_or_a_refusal(data: bytes) -> None:
    header = int.to_bytes(min(len(data), 20), 8, "little")
    for content in (data, header + data):
        with suppress(TextError):  # any other exception fails
            SafeTensors.read("f", content)


@pytest.mark.parametrize(
    ("file", "key", "code"),
    [
        ("b.safetensors", "w", "E042"),
        ("a/w.safetensors", "x", "E044"),
        ("/etc/passwd", "w", "E041"),
        ("../w.safetensors", "w", "E041"),
        ("a/../../w", "w", "E041"),
        ("a/.hidden", "w", "E041"),
        ("a//w", "w", "E041"),
        ("a\\\\w", "w", "E041"),
        ("C:w", "w", "E041"),
        ("", "w", "E041"),
        ("a/", "w", "E041"),
        ("é", "w", "E041"),
    ],
)
def test_only_files_beside_the_text_are_asked_for(file: str, key: str, code: str) -> None:
    header = {"half": {"dtype": "BF16", "shape": [1], "data_offsets": [0, 2]}}
    text = TEXT.format(key=key, layout="CR").replace("a/w.safetensors", file)
    with pytest.raises(RlxError) as caught:
        parse(text, resolver=resolver(raw(header, b"12")))
    assert caught.value.code == f"RLX-{code}"
    assert caught.value.at is not None
