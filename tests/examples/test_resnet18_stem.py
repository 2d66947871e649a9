"""The ResNet-18 stem, as the language's description writes it, against an oracle that shares no code with RLX."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import rlx_ir
from rlx_ir import Module, parse, print_module
from rlx_ir.interpreter import run
from rlx_ir.verify import verify

SOURCE = Path(__file__).parents[2] / "examples" / "resnet18_stem" / "resnet18_stem.rlx"


@pytest.fixture(scope="module")
def stem() -> Module:
    return parse(SOURCE.read_text(encoding="utf-8"), file=str(SOURCE))


def oracle(image: NDArray[np.float64], weight: NDArray[np.float64], eps: float) -> NDArray[np.float64]:
    """relu((conv(image, weight, stride 2, padding 3) − 0) / √(1 + eps)), by im2col in float64."""
    padded = np.pad(image, ((0, 0), (0, 0), (3, 3), (3, 3)))
    out = np.zeros((1, 64, 112, 112))
    for row in range(112):
        for column in range(112):
            patch = padded[0, :, 2 * row : 2 * row + 7, 2 * column : 2 * column + 7]
            out[0, :, row, column] = weight.reshape(64, -1) @ patch.reshape(-1)
    return np.maximum(out / np.sqrt(1 + eps), 0)


def test_the_stem_parses_verifies_and_prints(stem: Module) -> None:
    verify(stem)
    text = print_module(stem)
    assert parse(text) == stem
    assert print_module(parse(text)) == text
    assert text == (Path(__file__).parent / "golden" / "resnet18_stem.rlx").read_text(encoding="utf-8")


def test_the_stem_declares_what_it_says(stem: Module) -> None:
    (image,) = stem.inputs
    assert str(image.tensor) == "float32[1, 3, 224, 224]"
    assert str(image.tensor.layout) == "NHWC"
    assert image.tensor.affinity == rlx_ir.MemoryAffinity("DDR", "32GB/s", None, "MESI")
    conv, _, _ = stem.nodes
    assert conv.schedule.tile("weight") == {"O": 16, "I": 3, "H": 7, "W": 7}
    assert conv.schedule.tile("output") == {"N": 1, "C": 64, "H": 8, "W": 8}
    assert str(stem.tensor("relu_out")) == "float32[1, 64, 112, 112]"


def test_the_stem_equals_the_oracle(stem: Module) -> None:
    # The weights too are drawn here again, from the seed that the language prescribes.
    seed = int.from_bytes(hashlib.sha256(b"resnet18_stem/weight").digest()[:4], "little")
    weight = np.random.RandomState(seed).randn(64, 3, 7, 7).astype(np.float32)
    image = np.random.default_rng(0).standard_normal((1, 3, 224, 224)).astype(np.float32)
    expected = oracle(image.astype(np.float64), weight.astype(np.float64), 1e-5)
    result = run(stem, {"input": image})["output"]
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, expected, rtol=0, atol=1e-5 * np.abs(expected).max())
