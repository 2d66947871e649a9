"""Models on disk: a text with its folder, an archive, and nothing outside them."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from rlx_base.errors import RlxError
from rlx_compiler.source import FolderResolver, load_module, load_source
from rlx_ir.archive import write_rlxz
from rlx_ir.constants.safetensors import write_safetensors

TEXT = '@rlx.module\ndef main():\n    w = rlx.constant(file="weights/w.safetensors", key="w")\n    return w\n'
WEIGHTS = write_safetensors({"w": np.arange(3, dtype=np.float32)})


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A model's folder beside a secret."""
    (tmp_path / "secret").write_bytes(WEIGHTS)
    folder = tmp_path / "model"
    (folder / "weights").mkdir(parents=True)
    (folder / "model.rlx").write_text(TEXT)
    (folder / "weights" / "w.safetensors").write_bytes(WEIGHTS)
    return folder


def code(path: Path) -> str:
    with pytest.raises(RlxError) as caught:
        load_module(path)
    return caught.value.code.removeprefix("RLX-")


def test_a_text_a_folder_and_an_archive_give_one_module(model: Path) -> None:
    archive = model.parent / "model.rlxz"
    archive.write_bytes(write_rlxz(TEXT, {"weights/w.safetensors": WEIGHTS}))
    module = load_module(model / "model.rlx")
    assert module.constants[0].array().tolist() == [0, 1, 2]
    assert load_module(model) == module == load_module(archive)
    assert load_source(model).file == str(model / "model.rlx")


def test_weights_are_mapped_and_not_read(model: Path) -> None:
    array = load_module(model).constants[0].array()
    base = array
    while isinstance(base, np.ndarray) and base.base is not None:
        base = base.base
    assert type(base.obj).__name__ == "mmap"  # type: ignore[attr-defined]


def test_a_link_out_of_the_folder_is_refused(model: Path) -> None:
    weights = model / "weights" / "w.safetensors"
    weights.unlink()
    weights.symlink_to(model.parent / "secret")
    assert code(model) == "E041"
    (model / "weights" / "w.safetensors").unlink()
    (model / "weights").rmdir()
    (model / "weights").symlink_to(model.parent)
    (model.parent / "w.safetensors").write_bytes(WEIGHTS)
    assert code(model) == "E041"


def test_a_link_inside_the_folder_is_followed(model: Path) -> None:
    (model / "real.bin").write_bytes(WEIGHTS)
    (model / "weights" / "w.safetensors").unlink()
    (model / "weights" / "w.safetensors").symlink_to("../real.bin")
    assert load_module(model).constants[0].array().tolist() == [0, 1, 2]


def test_what_is_no_file_is_not_there(model: Path) -> None:
    weights = model / "weights" / "w.safetensors"
    weights.unlink()
    assert code(model) == "E042"
    weights.mkdir()
    assert code(model) == "E042"
    weights.rmdir()
    os.mkfifo(weights)
    assert code(model) == "E042"
    weights.unlink()
    weights.symlink_to("w.safetensors")
    assert code(model) == "E042"
    weights.unlink()
    weights.write_bytes(b"")
    assert code(model) == "E043"
    with pytest.raises(RlxError, match="leaves"):
        FolderResolver(model)("../secret")


def test_a_source_has_to_be_a_model(model: Path) -> None:
    assert code(model / "none.rlx") == "E209"
    assert code(model / "weights") == "E209"
    assert code(model.parent / "secret") == "E209"
    (model / "other.rlx").write_text(TEXT)
    assert code(model) == "E209"
    (model / "other.rlx").write_bytes(b"#" * (5 << 20))
    assert code(model / "other.rlx") == "E001"
    broken = model / "broken.rlxz"
    broken.write_bytes(b"PK")
    assert code(broken) == "E050"
