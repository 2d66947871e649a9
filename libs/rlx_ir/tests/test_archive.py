"""`.rlxz`: checked before anything is unpacked."""

from __future__ import annotations

import hashlib
import json
import struct
import zipfile
from io import BytesIO

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlx_base.errors import RlxError, TextError
from rlx_ir import ArchiveLimits, parse, read_rlxz, write_rlxz
from rlx_ir.constants.safetensors import write_safetensors

TEXT = '@rlx.module\ndef main():\n    w = rlx.constant(file="w.safetensors", key="w")\n    return w\n'
WEIGHTS = write_safetensors({"w": np.arange(4, dtype=np.float32)})


def packed(files: dict[str, bytes], method: int = zipfile.ZIP_STORED, manifest: object = None) -> bytes:
    """A zip as another program would write it."""
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    listed = json.dumps({"format_version": 1, "files": digests} if manifest is None else manifest)
    out = BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in {**files, "manifest.json": listed.encode()}.items():
            archive.writestr(name, content)
    return out.getvalue()


def refusal(content: bytes, limits: ArchiveLimits | None = None) -> str:
    with pytest.raises(TextError) as caught:
        read_rlxz(content, *([limits] if limits else []))
    return caught.value.code.removeprefix("RLX-")


def test_a_model_travels_with_its_weights() -> None:
    content = bytearray(write_rlxz(TEXT, {"w.safetensors": WEIGHTS}))
    assert content == write_rlxz(TEXT, {"w.safetensors": WEIGHTS})
    package = read_rlxz(content)
    array = parse(package.text, resolver=package.resolver).constants[0].array()
    assert array.tolist() == [0, 1, 2, 3]
    assert np.shares_memory(array, np.frombuffer(content, np.uint8))
    assert zipfile.ZipFile(BytesIO(content)).testzip() is None
    with pytest.raises(TextError, match="no file"):
        package.resolver("other")


def test_a_compressed_archive_is_read_too() -> None:
    package = read_rlxz(packed({"model.rlx": TEXT.encode(), "w.safetensors": WEIGHTS}, zipfile.ZIP_DEFLATED))
    assert package.text == TEXT
    assert bytes(package.files["w.safetensors"]) == WEIGHTS


def test_bombs_are_refused_by_their_directory() -> None:
    bomb = packed({"model.rlx": TEXT.encode(), "w.safetensors": bytes(10 << 20)}, zipfile.ZIP_DEFLATED)
    assert len(bomb) < 20_000
    assert refusal(bomb) == "E051"
    assert refusal(packed({f"f{i}": b"" for i in range(300)})) == "E051"
    assert refusal(packed({"model.rlx": TEXT.encode(), "w": bytes(1000)}), ArchiveLimits(bytes=1000)) == "E051"
    assert refusal(packed({"model.rlx": b"# " * 3_000_000})) == "E051"


def test_a_size_that_lies_is_found_while_unpacking() -> None:
    honest = packed({"model.rlx": TEXT.encode() * 50}, zipfile.ZIP_DEFLATED)
    size = struct.pack("<I", len(TEXT) * 50)
    assert refusal(honest.replace(size, struct.pack("<I", len(TEXT) * 40))) == "E050"


def test_entries_that_share_their_bytes_are_refused() -> None:
    content = bytearray(packed({"model.rlx": TEXT.encode(), "w.safetensors": WEIGHTS}))
    directory = content.index(b"PK\x01\x02")
    second = content.index(b"PK\x01\x02", directory + 4)
    content[second + 42 : second + 46] = content[directory + 42 : directory + 46]  # the place of the first
    assert refusal(bytes(content)) == "E050"


@pytest.mark.parametrize("name", ["../model.rlx", "/w", ".w", "a\\b", "a/../b", "w\x00", "é"])
def test_names_stay_inside(name: str) -> None:
    assert refusal(packed({"model.rlx": TEXT.encode(), name: b"1"})) in ("E041", "E050")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PK\x05\x06" + bytes(18),
        packed({"w": b""}),
        packed({"model.rlx": b""}, manifest=[]),
        packed({"model.rlx": b""}, manifest={"format_version": 2, "files": {}}),
        packed({"model.rlx": b""}, manifest={"format_version": 1, "files": {}}),
        packed({"model.rlx": b""}, manifest={"format_version": 1, "files": {"model.rlx": 1}}),
        write_rlxz(TEXT, {}) + b"behind",
        b"before" + write_rlxz(TEXT, {}),
        write_rlxz(TEXT, {})[:-30],
    ],
)
def test_what_is_no_archive_is_refused(content: bytes) -> None:
    assert refusal(content) == "E050"


def test_two_files_of_one_name_are_refused() -> None:
    out = BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("model.rlx", TEXT)
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("model.rlx", TEXT)
    assert refusal(out.getvalue()) == "E050"


def test_a_changed_file_is_named() -> None:
    content = write_rlxz(TEXT, {"w.safetensors": WEIGHTS}).replace(WEIGHTS[-4:], b"\x01\x02\x03\x04")
    with pytest.raises(TextError, match=r"w\.safetensors") as caught:
        read_rlxz(content)
    assert caught.value.code == "RLX-E052"


@settings(max_examples=300)
@given(st.data())
def test_a_damaged_archive_is_read_alike_or_refused(data: st.DataObject) -> None:
    content = bytearray(write_rlxz(TEXT, {"w.safetensors": WEIGHTS}))
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        package = read_rlxz(bytes(content))
    except RlxError:
        return
    assert package.text == TEXT
    assert {name: bytes(part) for name, part in package.files.items()} == {"w.safetensors": WEIGHTS}
