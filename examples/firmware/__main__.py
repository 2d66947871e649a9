"""Trains, compiles, links and runs: `python -m examples.firmware`."""

import subprocess
from pathlib import Path

import numpy as np

from rlx_compiler import CompileOptions, compile_source

from .board import build_image, run_image
from .training import train

FOLDER = Path(__file__).parents[2] / "build" / "firmware"


def main() -> None:
    digits = train(FOLDER)
    bundle = compile_source(digits.source, CompileOptions("c:portable"), FOLDER / "bundle")
    image = build_image(bundle.directory, digits.pictures, FOLDER / "image")
    print(subprocess.run(["arm-none-eabi-size", image.name], cwd=image.parent, capture_output=True, text=True).stdout)
    print(f"workspace {bundle.manifest.workspace_bytes} bytes, weights {bundle.manifest.weights_bytes} bytes")
    found = run_image(image).argmax(axis=1)
    print(f"{np.mean(found == digits.labels):.1%} of {len(found)} digits are right on the board")


if __name__ == "__main__":
    main()
