"""EfficientNet-Lite0 in Chromium: the page names the photo as the `llvm` target does, to a thousandth."""

from __future__ import annotations

import json
import queue
import shutil
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import rlx_runtime
from examples.efficientnet_lite0 import preprocess
from examples.efficientnet_lite0.browser import build, serve
from examples.efficientnet_lite0.convert import convert
from examples.efficientnet_lite0.photos import PHOTOS
from rlx_compiler import CompileOptions, compile_source

pytestmark = pytest.mark.browser
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed here")
@pytest.mark.parametrize("target", ["wasm", "wasm:relaxed-simd"])
def test_the_page_classifies_photos(target: str, tmp_path: Path) -> None:
    folder = build(tmp_path / "page", target)
    llvm = compile_source(convert(), CompileOptions("llvm"), tmp_path / "llvm").directory
    answers: queue.Queue[bytes] = queue.Queue()
    with serve(folder, report=answers.put) as server, rlx_runtime.load(llvm) as model:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_address[1]}"
        for photo in PHOTOS[:3]:
            image = preprocess.read_image(photo.path)
            pixels = (image[0].transpose(1, 2, 0) * preprocess.SCALE + preprocess.MEAN).round().astype(np.uint8)
            Image.fromarray(pixels).save(folder / "photo.png")
            page = f"{address}/?photo=photo.png&report=report"
            assert CHROMIUM is not None
            browser = subprocess.Popen(
                [CHROMIUM, *FLAGS, f"--user-data-dir={tmp_path / photo.name}", page],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            try:
                found = json.loads(answers.get(timeout=60))["classes"]
            finally:
                browser.kill()
                browser.wait()
            [(label, probability)] = preprocess.top(model.run({"image": image})["probabilities"])
            assert found[0]["label"] == label == photo.label
            assert abs(found[0]["probability"] - probability) <= 1e-3
        server.shutdown()
