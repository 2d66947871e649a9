"""Reading `--input name=FILE`: a NumPy file, an image, a number, or a text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlx.cli.terminal import fail
from rlx_base.dtypes import DTYPES, STRING
from rlx_ir.elements import numpy_of
from rlx_wire.manifest import TensorSpec

__all__ = ["read_inputs"]

_IMAGES = {".png", ".jpg", ".jpeg", ".bmp", ".webp"}


def read_inputs(given: Sequence[str], wanted: Sequence[TensorSpec]) -> dict[str, NDArray[Any]]:
    """The arrays that `name=FILE` options name, as the model wants them; a model's only input needs no name."""
    specs = {spec.name: spec for spec in wanted}
    arrays: dict[str, NDArray[Any]] = {}
    for text in given:
        name, separator, value = text.partition("=")
        if not separator and len(wanted) == 1:
            name, value = wanted[0].name, text
        if name not in specs:
            fail(f"the model has no input {name!r}", f"its inputs are {', '.join(specs) or 'none'}: --input NAME=FILE")
        arrays[name] = _read(value, specs[name])
    missing = [name for name in specs if name not in arrays]
    if missing:
        fail(f"input {missing[0]!r} is not given", f"--input {missing[0]}=FILE.npy (or an image, or a number)")
    return arrays


def _read(value: str, spec: TensorSpec) -> NDArray[Any]:
    path = Path(value)
    dtype = numpy_of(DTYPES[spec.dtype])
    if path.suffix.lower() in _IMAGES:
        return _image(path, spec)
    if path.suffix == ".npy":
        loaded: NDArray[Any] = np.load(path, allow_pickle=False)
        # A .npy file does not tell bfloat16 and its kind from plain bytes.
        bare = loaded.dtype.kind == "V" and loaded.dtype.itemsize == dtype.itemsize
        return loaded.view(dtype) if bare else loaded
    if spec.dtype == STRING.name:
        return np.full([size if isinstance(size, int) else 1 for size in spec.shape], value, object)
    try:
        number = float(value)
    except ValueError:
        fail(f"{value!r} is neither a .npy file, an image, nor a number", "give a file that exists")
    return np.full([size if isinstance(size, int) else 1 for size in spec.shape], number, dtype)


def _image(path: Path, spec: TensorSpec) -> NDArray[Any]:
    """An image as (1, C, H, W): the centre square, scaled to H × W. Bytes stay 0…255; floats become (x − 127) ÷ 128."""
    try:
        from PIL import Image
    except ImportError:
        fail("reading an image needs Pillow", "pip install 'rlx[image]', or give a .npy file", code=3)
    if len(spec.shape) != 4 or spec.shape[1] not in (1, 3):
        fail(f"input {spec.name!r} has shape {spec.shape}, not an image's (1, 3, H, W)", "give a .npy file")
    height, width = (size if isinstance(size, int) else None for size in spec.shape[2:])
    with Image.open(path) as opened:
        image = opened.convert("L" if spec.shape[1] == 1 else "RGB")
    side = min(image.size)
    left, top = (image.width - side) // 2, (image.height - side) // 2
    square = image.crop((left, top, left + side, top + side))
    if height is not None and width is not None:
        square = square.resize((width, height), Image.Resampling.BICUBIC)
    pixels = np.asarray(square).reshape(square.height, square.width, -1).transpose(2, 0, 1)[None]
    if spec.dtype == "uint8":
        return np.ascontiguousarray(pixels)
    return ((pixels.astype(np.float32) - 127.0) / 128.0).astype(numpy_of(DTYPES[spec.dtype]))
