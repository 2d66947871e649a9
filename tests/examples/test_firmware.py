"""The firmware of `examples/firmware` on an emulated board: it gives what the interpreter gives, and knows digits."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import rlx_ir
from examples.firmware.board import build_image, run_image
from examples.firmware.training import train
from rlx_compiler import CompileOptions, compile_module
from rlx_compiler.source import load_module

MISSING = [name for name in ("arm-none-eabi-gcc", "qemu-system-arm") if shutil.which(name) is None]


@pytest.mark.skipif(bool(MISSING), reason=f"not installed here: {', '.join(MISSING)}")
def test_the_board_classifies_as_the_interpreter_does(tmp_path: Path) -> None:
    digits = train(tmp_path / "model")
    module = load_module(digits.source)
    bundle = compile_module(module, CompileOptions("c:portable"), tmp_path / "bundle").directory
    found = run_image(build_image(bundle, digits.pictures, tmp_path / "image"))
    assert found.shape == (len(digits.labels), 10)
    # The interpreter is asked for some of them: it takes longer than the board.
    some = digits.pictures[:50]
    expected = np.concatenate([rlx_ir.run(module, {"picture": one[None]})["probabilities"] for one in some])
    assert np.abs(found[: len(some)] - expected).max() < 5e-6
    assert np.mean(found.argmax(axis=1) == digits.labels) > 0.9
