"""The network on real photos, in this process: every target says what they show and agrees with the interpreter."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import rlx_runtime
from examples.efficientnet_lite0 import convert, preprocess
from examples.efficientnet_lite0.photos import PHOTOS, Photo
from rlx_compiler import CompileOptions, compile_source
from rlx_compiler.source import load_module
from rlx_ir import interpreter

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return convert.convert(folder=tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module", params=["llvm", "c"])
def model(request, source: Path, tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("bundle") / request.param
    bundle = compile_source(source, CompileOptions(target=request.param), folder)
    assert [segment.kind for segment in bundle.manifest.launch_plan] == ["native"]
    return rlx_runtime.load(bundle.directory)


@pytest.fixture(scope="module")
def expected(source: Path):
    """What the interpreter makes of a photo, computed once for all targets."""
    module = load_module(source)

    @cache
    def outputs(photo: Photo) -> Mapping[str, np.ndarray]:
        return interpreter.run(module, {"image": preprocess.read_image(photo.path)})

    return outputs


@pytest.mark.parametrize("photo", PHOTOS, ids=lambda photo: photo.name)
def test_a_photo_is_taken_for_what_it_shows(model, expected, photo: Photo) -> None:
    outputs = model.run({"image": preprocess.read_image(photo.path)})
    [(label, probability)] = preprocess.top(outputs["probabilities"])
    assert label == photo.label
    assert probability == pytest.approx(photo.probability, abs=0.01)
    logits = expected(photo)["logits"]
    assert np.max(np.abs(outputs["logits"] - logits)) <= 1e-4 * np.max(np.abs(logits))
