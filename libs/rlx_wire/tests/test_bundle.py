"""Bundles: whole or not there at all, the same bytes each time, and no archive is trusted."""

import io
import os
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rlx_base.errors import ArtifactError
from rlx_wire import bundle as bundle_module
from rlx_wire.bundle import (
    UnpackLimits,
    pack_bundle,
    read_manifest,
    stream_bundle,
    unpack_bundle,
    verify_bundle,
    write_bundle,
)
from rlx_wire.manifest import Manifest

FILES = {"librlx_kernel.so": b"\x7fELF code", "weights.bin": b"12345", "empty": b""}


@pytest.fixture
def directory(tmp_path: Path, manifest: Manifest) -> Path:
    write_bundle(tmp_path / "bundle", manifest, FILES)
    return tmp_path / "bundle"


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def refused(code: str, call: Callable[[], object]) -> ArtifactError:
    with pytest.raises(ArtifactError) as caught:
        call()
    assert caught.value.code == f"RLX-{code}", caught.value
    return caught.value


# --- writing


def test_what_is_written_is_what_is_read(tmp_path: Path, manifest: Manifest) -> None:
    source = tmp_path / "from-disk"
    source.write_bytes(b"12345")
    digest = write_bundle(tmp_path / "bundle", manifest, FILES | {"weights.bin": source})
    read = verify_bundle(tmp_path / "bundle", digest)
    assert read.digest == digest
    assert read.model_copy(update={"files": {}}) == manifest
    assert {name: entry.bytes for name, entry in read.files.items()} == {n: len(d) for n, d in FILES.items()}
    assert contents(tmp_path / "bundle").items() >= FILES.items()


def test_the_digest_does_not_know_where_or_in_which_order(tmp_path: Path, manifest: Manifest) -> None:
    one = write_bundle(tmp_path / "one", manifest, FILES)
    two = write_bundle(tmp_path / "elsewhere" / "two", manifest, dict(reversed(FILES.items())))
    assert one == two
    assert contents(tmp_path / "one") == contents(tmp_path / "elsewhere" / "two")


def test_a_newer_bundle_takes_the_place_of_an_older_one(directory: Path, manifest: Manifest) -> None:
    write_bundle(directory, manifest, {"weights.bin": b"54321"})
    assert sorted(contents(directory)) == ["manifest.json", "weights.bin"]
    assert [path.name for path in directory.parent.iterdir()] == ["bundle"]


def test_the_same_bundle_again_leaves_the_files_in_place(directory: Path, manifest: Manifest) -> None:
    before = (directory / "weights.bin").stat().st_ino
    write_bundle(directory, manifest, FILES)
    assert (directory / "weights.bin").stat().st_ino == before


def test_a_damaged_bundle_is_replaced_by_the_same_one(directory: Path, manifest: Manifest) -> None:
    (directory / "weights.bin").write_bytes(b"spoilt")
    verify_bundle(directory, write_bundle(directory, manifest, FILES))


def test_a_folder_with_something_else_in_it_is_not_touched(tmp_path: Path, manifest: Manifest) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "thesis.tex").write_text("years")
    refused("E308", lambda: write_bundle(tmp_path / "work", manifest, FILES))
    assert contents(tmp_path / "work") == {"thesis.tex": b"years"}
    assert [path.name for path in tmp_path.iterdir()] == ["work"]


def test_a_write_that_fails_half_way_leaves_nothing(tmp_path: Path, manifest: Manifest) -> None:
    with pytest.raises(FileNotFoundError):
        write_bundle(tmp_path / "bundle", manifest, FILES | {"zzz": tmp_path / "missing"})
    assert list(tmp_path.iterdir()) == []


def test_everything_is_on_disk_before_the_name_appears(
    tmp_path: Path, manifest: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    log: list[str] = []
    fsync, rename = os.fsync, Path.rename

    def logged_fsync(descriptor: int) -> None:
        log.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        fsync(descriptor)

    def logged_rename(self: Path, target: Path) -> Path:
        log.append("rename")
        return rename(self, target)

    monkeypatch.setattr(bundle_module.os, "fsync", logged_fsync)
    monkeypatch.setattr(Path, "rename", logged_rename)
    write_bundle(tmp_path / "bundle", manifest, FILES)
    assert log == ["file"] * (len(FILES) + 1) + ["folder", "rename", "folder"]


# --- verifying


@pytest.mark.parametrize(
    ("spoil", "expected", "found"),
    [
        (lambda path: path.write_bytes(b"12344"), "sha256", "…"),
        (lambda path: path.write_bytes(b"123"), "5 bytes", "3 bytes"),
        (lambda path: path.unlink(), "a plain file", "none"),
        (lambda path: path.rename(path.parent / "moved") and path.symlink_to("moved"), "a plain file", "none"),
    ],
)
def test_a_changed_file_is_named(directory: Path, spoil: Callable[[Path], object], expected: str, found: str) -> None:
    spoil(directory / "weights.bin")
    error = refused("E304", lambda: verify_bundle(directory))
    assert error.message.startswith("artifact rejected: file weights.bin: expected")
    assert expected in error.message
    assert found in error.message


def test_another_bundle_than_the_expected_one_is_refused(directory: Path) -> None:
    error = refused("E303", lambda: verify_bundle(directory, "0" * 64))
    assert "0" * 64 in error.message
    assert read_manifest(directory).digest in error.message


def test_a_folder_without_a_manifest_is_no_bundle(tmp_path: Path) -> None:
    assert "No such file" in refused("E301", lambda: read_manifest(tmp_path)).message


def test_files_that_the_manifest_does_not_list_stay_out_of_the_archive(directory: Path) -> None:
    packed = pack_bundle(directory)
    (directory / "profile.json").write_text("{}")
    verify_bundle(directory)
    assert pack_bundle(directory) == packed


# --- travelling


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(
    files=st.dictionaries(
        st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,20}", fullmatch=True).filter(lambda n: n != "manifest.json"),
        st.binary(max_size=300),
        max_size=6,
    )
)
def test_packing_and_unpacking_is_the_identity(
    tmp_path_factory: pytest.TempPathFactory, manifest: Manifest, files: dict[str, bytes]
) -> None:
    folder = tmp_path_factory.mktemp("packed")
    digest = write_bundle(folder / "one", manifest, files)
    packed = pack_bundle(folder / "one")
    assert unpack_bundle(packed, folder / "two", digest).digest == digest
    assert contents(folder / "one") == contents(folder / "two")
    assert pack_bundle(folder / "two") == packed


def test_an_archive_may_come_from_a_file_or_a_stream(directory: Path, tmp_path: Path) -> None:
    with (tmp_path / "bundle.zip").open("wb") as output:
        stream_bundle(directory, output)
    assert (tmp_path / "bundle.zip").read_bytes() == pack_bundle(directory)
    unpack_bundle(tmp_path / "bundle.zip", tmp_path / "two")
    with (tmp_path / "bundle.zip").open("rb") as stream:
        unpack_bundle(stream, tmp_path / "three")
    assert contents(tmp_path / "two") == contents(tmp_path / "three") == contents(directory)


def test_an_archive_tells_no_time_and_no_owner(directory: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(pack_bundle(directory))) as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert {entry.external_attr >> 16 for entry in archive.infolist()} == {0o100644}
        assert {entry.compress_type for entry in archive.infolist()} == {zipfile.ZIP_STORED}


def test_unpacking_over_the_same_bundle_keeps_it(directory: Path) -> None:
    before = (directory / "weights.bin").stat().st_ino
    unpack_bundle(pack_bundle(directory), directory)
    assert (directory / "weights.bin").stat().st_ino == before


# --- hostile archives


def archive(entries: list[tuple[str, bytes]], compression: int = zipfile.ZIP_STORED, comment: bytes = b"") -> bytes:
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w", compression) as opened:
        opened.comment = comment
        for name, data in entries:
            opened.writestr(name, data)
    return output.getvalue()


def entries_of(directory: Path) -> list[tuple[str, bytes]]:
    found = contents(directory)
    return [("manifest.json", found.pop("manifest.json")), *sorted(found.items())]


Spoil = Callable[[list[tuple[str, bytes]]], bytes]
HOSTILE: dict[str, tuple[str, Spoil]] = {
    "not a zip": ("E307", lambda e: b"PK\3\4 nothing of the kind" * 10),
    "empty": ("E307", lambda e: b""),
    "no entries": ("E307", lambda e: archive([])),
    "cut": ("E307", lambda e: archive(e)[:-30]),
    "comment": ("E307", lambda e: archive(e, comment=b"hello")),
    "compressed": ("E307", lambda e: archive(e, zipfile.ZIP_DEFLATED)),
    "bomb": ("E307", lambda e: archive([*e[:-1], (e[-1][0], bytes(10 << 20))], zipfile.ZIP_LZMA)),
    "manifest is not first": ("E307", lambda e: archive(e[::-1])),
    "no manifest": ("E307", lambda e: archive(e[1:])),
    "climbs out": ("E307", lambda e: archive([*e, ("../../evil", b"x")])),
    "absolute": ("E307", lambda e: archive([*e, ("/tmp/evil", b"x")])),
    "folder": ("E307", lambda e: archive([*e, ("folder/", b"")])),
    "backslash": ("E307", lambda e: archive([*e, ("..\\evil", b"x")])),
    "one more": ("E307", lambda e: archive([*e, ("zzz", b"x")])),
    "one less": ("E307", lambda e: archive(e[:-1])),
    "many": ("E307", lambda e: archive([*e, *((f"x{n:05}", b"") for n in range(5000))])),
    "other bytes": ("E304", lambda e: archive([*e[:-1], (e[-1][0], b"54321")])),
    "longer": ("E304", lambda e: archive([*e[:-1], (e[-1][0], b"123456")])),
    "other manifest": ("E301", lambda e: archive([("manifest.json", b"{}\n"), *e[1:]])),
    "large manifest": ("E307", lambda e: archive([("manifest.json", b" " * (17 << 20)), *e[1:]])),
    "flipped byte": ("E307", lambda e: archive(e).replace(b"12345", b"12344")),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_archive_is_refused_with_a_code_and_leaves_nothing(
    name: str, directory: Path, tmp_path: Path
) -> None:
    code, spoil = HOSTILE[name]
    spoilt = spoil(entries_of(directory))
    refused(code, lambda: unpack_bundle(spoilt, tmp_path / "room" / "unpacked"))
    assert list((tmp_path / "room").glob("*")) == []
    assert not (tmp_path / "evil").exists()


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_twice_is_refused(directory: Path, tmp_path: Path) -> None:
    entries = entries_of(directory)
    refused("E307", lambda: unpack_bundle(archive([*entries, entries[-1]]), tmp_path / "unpacked"))


def test_an_encrypted_entry_is_refused(directory: Path, tmp_path: Path) -> None:
    packed = bytearray(pack_bundle(directory))
    at = packed.rindex(b"PK\1\2")
    packed[at + 8] |= 1
    refused("E307", lambda: unpack_bundle(bytes(packed), tmp_path / "unpacked"))


@pytest.mark.parametrize("from_disk", [True, False])
def test_an_entry_before_the_archive_is_refused(directory: Path, tmp_path: Path, from_disk: bool) -> None:
    packed = bytearray(pack_bundle(directory))
    (offset,) = struct.unpack_from("<L", packed, len(packed) - 22 + 16)
    struct.pack_into("<L", packed, len(packed) - 22 + 16, offset + 65536)
    (tmp_path / "bundle.zip").write_bytes(packed)
    refused("E307", lambda: unpack_bundle(tmp_path / "bundle.zip" if from_disk else bytes(packed), tmp_path / "two"))


def test_a_directory_too_large_is_refused_before_it_is_read(directory: Path, tmp_path: Path) -> None:
    packed = bytearray(pack_bundle(directory))
    struct.pack_into("<L", packed, len(packed) - 22 + 12, 0x7FFFFFFF)
    error = refused("E307", lambda: unpack_bundle(bytes(packed), tmp_path / "unpacked"))
    assert "directory has 2147483647 bytes" in error.message


@pytest.mark.parametrize("end_record", [b"PK\6\6", b"PK\0\0"])
def test_a_64_bit_directory_has_the_same_bound(end_record: bytes, tmp_path: Path) -> None:
    end64 = end_record + struct.pack("<QHHLLQQQQ", 44, 45, 45, 0, 0, 1, 1, 1 << 40, 0)
    locator = b"PK\6\7" + struct.pack("<LQL", 0, 0, 1)
    end = b"PK\5\6" + struct.pack("<HHHHLLH", 0, 0, 1, 1, 46, 0, 0)
    refused("E307", lambda: unpack_bundle(b"x" * 200 + end64 + locator + end, tmp_path / "unpacked"))


def test_more_bytes_than_allowed_are_refused(directory: Path, tmp_path: Path) -> None:
    refused("E307", lambda: unpack_bundle(pack_bundle(directory), tmp_path / "two", limits=UnpackLimits(total_bytes=9)))


def test_another_digest_than_the_expected_one_is_refused_before_unpacking(directory: Path, tmp_path: Path) -> None:
    refused("E303", lambda: unpack_bundle(pack_bundle(directory), tmp_path / "two", "0" * 64))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
@given(data=st.data())
def test_any_damage_is_refused_or_harmless(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory, manifest: Manifest
) -> None:
    folder = tmp_path_factory.mktemp("damage")
    digest = write_bundle(folder / "one", manifest, FILES)
    packed = bytearray(pack_bundle(folder / "one"))
    for _ in range(data.draw(st.integers(1, 3))):
        packed[data.draw(st.integers(0, len(packed) - 1))] = data.draw(st.integers(0, 255))
    try:
        unpack_bundle(bytes(packed), folder / "two", digest)
    except ArtifactError:
        assert not (folder / "two").exists()
    else:
        assert contents(folder / "two") == contents(folder / "one")
