"""What nothing names goes from the store; what is named, young or on its way in stays."""

import io
import os
import threading
from pathlib import Path

import pytest

from rlx_compile_api.blobs import BlobStore
from rlx_compile_api.database import Database
from rlx_compile_api.repository.artifacts import add_artifact
from rlx_compile_api.repository.profiles import add_profile
from rlx_compile_api.sweeper import Sweeper, Swept
from rlx_compile_api.tables import ArtifactRow, ModelRow, ProfileRow, VersionRow
from rlx_wire.bundle import pack_bundle
from tests.support.bundles import write_small_bundle

DAY = 86400.0


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def store(tmp_path: Path) -> BlobStore:
    return BlobStore(tmp_path / "store")


@pytest.fixture
def database(tmp_path: Path):
    made = Database(f"sqlite:///{tmp_path / 'db'}")
    made.migrate()
    yield made
    made.close()


@pytest.fixture
def sweeper(store: BlobStore, database: Database) -> Sweeper:
    clock = Clock()
    made = Sweeper(database, store, clock, interval=1, grace=DAY)
    # Two days after everything that is stored now.
    clock.now = os.stat(store.folder).st_mtime + 2 * DAY
    return made


def put_bundle(store: BlobStore, folder: Path) -> str:
    digest = write_small_bundle(folder / "bundle", "a" * 64, "llvm", "x86-64-v3")
    (folder / "archive").write_bytes(pack_bundle(folder / "bundle"))
    store.put_bundle(folder / "archive", digest)
    return digest


def test_only_what_no_row_names_goes(store: BlobStore, database: Database, sweeper: Sweeper, tmp_path: Path) -> None:
    source, profile, lost = (store.put(io.BytesIO(text)) for text in (b"source", b"profile", b"lost"))
    bundle = put_bundle(store, tmp_path)
    version = VersionRow(
        model="m",
        version=1,
        module="m",
        program_digest="a" * 64,
        meaning_digest="b" * 64,
        inputs=[],
        outputs=[],
        source=[{"name": "m.rlx", "digest": source.digest, "bytes": source.bytes}],
        created_at=0,
    )
    artifact = ArtifactRow(
        digest=bundle, program_digest="a" * 64, target="llvm", cpu="x", compiler_version="0", bytes=1, created_at=0
    )
    database.write(lambda session: session.add(ModelRow(name="m", created_at=0)))
    database.write(lambda session: session.add(version))
    database.write(lambda session: add_artifact(session, artifact))
    row = ProfileRow(id="p", digest=profile.digest, bytes=profile.bytes, created_at=0)
    database.write(lambda session: add_profile(session, row))
    assert sweeper.sweep() == Swept(1, len(b"lost"))
    assert [store.has_blob(blob.digest) for blob in (source, profile, lost)] == [True, True, False]
    assert store.has_bundle(bundle)
    assert sweeper.sweep() == Swept(0, 0)
    assert list((store.folder / "tmp").iterdir()) == []


def test_a_bundle_of_a_lost_attempt_goes(store: BlobStore, sweeper: Sweeper, tmp_path: Path) -> None:
    digest = put_bundle(store, tmp_path)
    assert sweeper.sweep().files == 1
    assert not store.has_bundle(digest)


def test_what_is_young_stays(store: BlobStore, database: Database) -> None:
    blob = store.put(io.BytesIO(b"young"))
    store.put(io.BytesIO(b"other"))
    now = store.blob(blob.digest).stat().st_mtime
    assert Sweeper(database, store, lambda: now + DAY - 1, interval=1, grace=DAY).sweep() == Swept(0, 0)


@pytest.mark.parametrize("kind", ["blob", "bundle"])
def test_what_comes_again_while_it_is_swept_stays(store: BlobStore, tmp_path: Path, kind: str) -> None:
    """It was listed as old, and is uploaded before it is removed."""

    def upload() -> str:
        return store.put(io.BytesIO(b"again")).digest if kind == "blob" else put_bundle(store, tmp_path)

    digest = upload()
    [path] = (store.folder / f"{kind}s").glob("??/*")
    os.utime(path, (1000, 1000))
    assert store.stored_before(2000) == [digest]
    again = threading.Thread(target=upload)
    again.start()
    again.join()
    assert store.remove(digest, 2000) is None
    assert store.has_blob(digest) or store.has_bundle(digest)
