"""`rlx.compile`, `rlx.load`, and the cache behind them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import rlx
from rlx.caching import CompileCache
from rlx_base.errors import CompileError
from rlx_compiler import CompileOptions, CompileResult, compile_module
from rlx_ir.text import parse
from rlx_wire.bundle import verify_bundle

TEXT = """@rlx.module
def net():
    x = rlx.tensor(shape=[2, 3], dtype="float32")
    return rlx.relu(x * 2.0)
"""
X = np.array([[1, -2, 3], [-4, 5, -6]], np.float32)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CompileCache:
    monkeypatch.setenv("RLX_CACHE_DIR", str(tmp_path / "cache"))
    return CompileCache.default()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "net.rlx"
    path.write_text(TEXT)
    return path


def test_a_model_is_compiled_once_and_then_comes_from_the_cache(model: Path, cache: CompileCache) -> None:
    first = rlx.compile(model)
    again = rlx.compile(parse(TEXT))
    assert first.seconds_by_phase
    assert not again.seconds_by_phase
    assert again.directory == first.directory
    assert [entry.model for entry in cache.entries()] == ["net"]


def test_whatever_matters_has_its_own_entry(model: Path, cache: CompileCache) -> None:
    rlx.compile(model)
    rlx.compile(model, opt_level=0)
    model.write_text(TEXT.replace("2.0", "3.0"))
    changed = rlx.load(model).run({"x": X})
    assert np.array_equal(changed["output"], np.maximum(3 * X, 0))
    assert len(cache.entries()) == 3


def test_a_damaged_entry_is_built_again(model: Path) -> None:
    held = rlx.compile(model).directory
    (held / "model.rlx").write_text("changed")
    assert rlx.compile(model).seconds_by_phase
    verify_bundle(held)


def test_of_two_processes_that_build_the_same_the_first_one_stays(model: Path, cache: CompileCache) -> None:
    module, options = parse(TEXT), CompileOptions()
    inode: list[int] = []

    def build(directory: Path) -> CompileResult:
        other = rlx.compile(model)  # another process, while this one compiles
        inode.append(other.directory.stat().st_ino)
        return compile_module(module, options, directory)

    result = cache.bundle(module, options, build)
    assert result.directory.stat().st_ino == inode[0]
    assert [path.name for path in cache.folder.iterdir()] == [result.directory.name]


def test_a_bundle_is_written_where_it_is_wanted_and_loads(model: Path, tmp_path: Path) -> None:
    result = rlx.compile(str(model), output=tmp_path / "bundle")
    assert result.digest == rlx.compile(model).digest
    assert verify_bundle(tmp_path / "bundle").digest == result.digest
    with rlx.load(tmp_path / "bundle", threads=1) as loaded:
        assert np.array_equal(loaded.run({"x": X})["output"], np.maximum(2 * X, 0))


def test_collecting_deletes_what_is_old_and_what_is_too_much(cache: CompileCache, model: Path) -> None:
    sizes = []
    for level in range(3):
        sizes.append(sum(file.bytes for file in rlx.compile(model, opt_level=level).manifest.files.values()))
    now = max(entry.used for entry in cache.entries())
    assert cache.collect(keep_bytes=1 << 40, unused_seconds=60, now=now) == []
    newest = cache.entries()[0]
    assert len(cache.collect(keep_bytes=newest.bytes, unused_seconds=60, now=now)) == 2
    assert cache.entries() == [newest]
    assert cache.collect(keep_bytes=1 << 40, unused_seconds=60, now=now + 61) == [newest]


def test_what_is_no_model_is_refused() -> None:
    with pytest.raises(TypeError, match="is no model"):
        rlx.compile(3)
    with pytest.raises(CompileError, match="E209"):
        rlx.load("nowhere.rlx")
