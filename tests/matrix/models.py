"""The example models as rows of the matrix, with inputs and what the interpreter or a photo's label expects of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from examples.efficientnet_lite0 import convert, preprocess
from examples.efficientnet_lite0.photos import PHOTOS
from rlx_compiler import CompileOptions, compile_module
from rlx_compiler.source import load_module
from rlx_ir.module import Module
from rlx_runtime import load

__all__ = ["Example", "examples"]

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Example:
    """A model with one input for it and the outputs that the `llvm` target gives."""

    name: str
    module: Module
    inputs: Mapping[str, Any]
    expected: Mapping[str, Any]


@cache
def examples() -> tuple[Example, ...]:
    """EfficientNet-Lite0 on a real photo and the stem of ResNet-18 on noise; the weights are those of `make models`."""
    lite0 = load_module(convert.convert())
    stem = load_module(ROOT / "examples/resnet18_stem/resnet18_stem.rlx")
    noise = np.random.default_rng(0)
    random = {
        value.name: noise.standard_normal(value.tensor.shape).astype(value.tensor.dtype.numpy) for value in stem.inputs
    }
    return (
        _example("efficientnet_lite0", lite0, {"image": preprocess.read_image(PHOTOS[0].path)}),
        _example("resnet18_stem", stem, random),
    )


def _example(name: str, module: Module, inputs: Mapping[str, Any]) -> Example:
    import tempfile

    with tempfile.TemporaryDirectory() as scratch:
        compile_module(module, CompileOptions("llvm"), Path(scratch) / "bundle")
        with load(Path(scratch) / "bundle", threads=1) as model:
            return Example(name, module, inputs, model.run(inputs))
