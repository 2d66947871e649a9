"""Ops that the host computes between kernels: texts, images, and where they stand in the launch plan."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import rlx_ir
from rlx_base.errors import ArtifactError, CompileError, RequestError
from rlx_compiler import CompileOptions, compile_module
from rlx_ir.module import Module
from rlx_ir.text import parse, print_module
from rlx_runtime import Executor, load
from rlx_wire.bundle import read_manifest
from rlx_wire.manifest import HostOpSegment, NativeSegment

# Kernels before, between and after two host ops; the texts between them have no address.
SCORES = """\
@rlx.module
def scores():
    words = rlx.tensor(shape=[3], dtype="string")
    prices = rlx.tensor(shape=[4], dtype="float32")
    doubled = prices * 2.0
    suffix = rlx.text(texts=["!"], shape=[1])
    loud = rlx.string_concat(words, suffix)
    place = rlx.text_index(loud, texts=["tea!", "milk!", "egg!", "rice!"])
    chosen = rlx.gather(doubled, place)
    return {"loud": loud, "chosen": chosen}
"""
DECODED = """\
@rlx.module
def decoded():
    file = rlx.tensor(shape=[LENGTH], dtype="uint8")
    pixels = rlx.decode_image(file, height=3, width=5)
    bright = rlx.cast(pixels, to="float32") * 0.5
    return {"bright": bright}
"""
both_targets = pytest.mark.parametrize("target", ["llvm", "c"])


def bundle(module: Module, target: str, folder: Path) -> Path:
    compile_module(module, CompileOptions(target, opt_level=2), folder / "bundle")
    return folder / "bundle"


def png() -> tuple[bytes, np.ndarray[Any, Any]]:
    pixels = np.random.default_rng(0).integers(0, 256, (3, 5, 3), np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue(), pixels


@both_targets
def test_texts_pass_between_kernels(target: str, tmp_path: Path) -> None:
    module = parse(SCORES)
    assert print_module(module) == print_module(parse(print_module(module)))
    inputs = {"words": np.array(["egg", "tea", "egg"], object), "prices": np.arange(4, dtype=np.float32)}
    folder = bundle(module, target, tmp_path)
    plan = read_manifest(folder).launch_plan
    assert [part.op if isinstance(part, HostOpSegment) else part.kernels for part in plan] == [
        (0, 1),
        "text",
        "string_concat",
        "text_index",
        (1, 2),
    ]
    assert len({part.symbol for part in plan if isinstance(part, NativeSegment)}) == 2
    expected = rlx_ir.run(module, inputs)
    with load(folder, threads=2) as model:
        for _ in range(2):
            outputs = model.run(inputs)
            assert outputs["loud"].tolist() == ["egg!", "tea!", "egg!"] == expected["loud"].tolist()
            np.testing.assert_array_equal(outputs["chosen"], [4, 0, 4])
        # Text arrays of NumPy's own, of some width, are taken too.
        assert model.run({**inputs, "words": np.array(["milk", "", "rice"])})["loud"].tolist() == [
            "milk!",
            "!",
            "rice!",
        ]


async def test_an_executor_runs_host_ops_on_shared_memory(tmp_path: Path) -> None:
    file, pixels = png()
    module = parse(DECODED.replace("LENGTH", str(len(file))))
    folder = bundle(module, "llvm", tmp_path)
    async with Executor(threads=1) as executor:
        digest = read_manifest(folder).digest
        await executor.load(digest, folder)
        result = await executor.run(digest, {"file": np.frombuffer(file, np.uint8)})
        np.testing.assert_array_equal(result.outputs["bright"], pixels * np.float32(0.5))
        with pytest.raises(RequestError, match=r"decode_image: found no image"):
            await executor.run(digest, {"file": np.zeros(len(file), np.uint8)})
        other = bundle(parse(SCORES), "llvm", tmp_path / "texts")
        with pytest.raises(ArtifactError, match="words of text"):
            await executor.load(read_manifest(other).digest, other)


def test_an_image_of_another_size_is_refused_before_it_is_unpacked() -> None:
    file, _ = png()
    module = parse(DECODED.replace("LENGTH", str(len(file))).replace("height=3", "height=4"))
    with pytest.raises(RequestError, match="an image of 3 x 5, where the model has room for 4 x 5"):
        rlx_ir.run(module, {"file": np.frombuffer(file, np.uint8)})


def test_what_the_host_computes_is_refused_for_a_target_without_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dataclasses import replace

    from rlx_compiler import driver

    resolved = driver.resolve(CompileOptions("llvm"))
    monkeypatch.setattr(driver, "resolve", lambda _: replace(resolved, target=replace(resolved.target, host_ops=False)))
    with pytest.raises(CompileError, match="text, which the host computes, for target llvm"):
        compile_module(parse(SCORES), CompileOptions("llvm"), tmp_path / "bundle")
