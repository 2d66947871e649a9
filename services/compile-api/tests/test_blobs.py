"""What is in the store is whole; what cannot be stored leaves nothing."""

import errno
import io
from pathlib import Path

import pytest

from rlx_base.errors import ArtifactError, ClusterError
from rlx_compile_api.blobs import BlobStore
from rlx_wire.bundle import pack_bundle
from tests.support.bundles import write_small_bundle


@pytest.fixture
def store(tmp_path: Path) -> BlobStore:
    return BlobStore(tmp_path / "store")


def files(store: BlobStore) -> list[str]:
    return sorted(path.name for path in store.folder.rglob("*") if path.is_file())


def test_a_blob_is_named_by_its_content(store: BlobStore) -> None:
    blob = store.put(io.BytesIO(b"abc"))
    assert blob.digest == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert store.put(io.BytesIO(b"abc")) == blob
    assert store.blob(blob.digest).read_bytes() == b"abc"
    assert files(store) == [blob.digest]
    with pytest.raises(ClusterError, match="E533"):
        store.blob("0" * 64)


def test_a_bundle_goes_in_once_and_canonical(store: BlobStore, tmp_path: Path) -> None:
    digest = write_small_bundle(tmp_path / "bundle", "a" * 64, "llvm", "x86-64-v3")
    archive = tmp_path / "archive"
    archive.write_bytes(pack_bundle(tmp_path / "bundle"))
    assert not store.has_bundle(digest)
    for _ in range(2):
        assert store.put_bundle(archive, digest).digest == digest
    assert store.has_bundle(digest)
    assert store.manifest(digest).target == "llvm"
    assert store.archive(digest).read_bytes() == archive.read_bytes()
    assert files(store) == ["bundle.zip", "manifest.json"]


def test_a_bundle_that_is_not_what_it_claims_is_refused(store: BlobStore, tmp_path: Path) -> None:
    write_small_bundle(tmp_path / "bundle", "a" * 64, "llvm", "x86-64-v3")
    archive = tmp_path / "archive"
    archive.write_bytes(pack_bundle(tmp_path / "bundle"))
    with pytest.raises(ArtifactError, match="E303"):
        store.put_bundle(archive, "0" * 64)
    archive.write_bytes(archive.read_bytes()[:-30])
    with pytest.raises(ArtifactError, match="E307"):
        store.put_bundle(archive, "0" * 64)
    assert files(store) == []


def test_a_full_disk_is_said_and_leaves_nothing(store: BlobStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(ClusterError, match="No space left on device") as caught:
        store.put(io.BytesIO(b"abc"))
    assert caught.value.status == 507
    assert files(store) == []
