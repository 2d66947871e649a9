"""From an image file to what the network sees, and from its answer to names."""

from pathlib import Path

import numpy as np
from PIL import Image

from .architecture import RESOLUTION

SHORT_SIDE = 256
MEAN, SCALE = 127.0, 128.0


def read_image(path: Path) -> np.ndarray:
    """float32 (1, 3, 224, 224): short side to 256 (bicubic), centre crop, RGB, (pixel - 127) / 128."""
    with Image.open(path) as image:
        scale = SHORT_SIDE / min(image.size)
        width, height = (round(side * scale) for side in image.size)
        resized = image.convert("RGB").resize((width, height), Image.Resampling.BICUBIC)
    left, top = (width - RESOLUTION) // 2, (height - RESOLUTION) // 2
    pixels = np.asarray(resized.crop((left, top, left + RESOLUTION, top + RESOLUTION)), np.float32)
    return np.ascontiguousarray((pixels.transpose(2, 0, 1)[np.newaxis] - MEAN) / SCALE)


def labels() -> list[str]:
    """The 1000 ImageNet classes by index."""
    return Path(__file__).with_name("labels.txt").read_text(encoding="utf-8").splitlines()


def top(probabilities: np.ndarray, count: int = 1) -> list[tuple[str, float]]:
    """The most probable classes with their probabilities, the first first."""
    names, row = labels(), probabilities.reshape(-1)
    return [(names[index], float(row[index])) for index in np.argsort(-row)[:count]]
