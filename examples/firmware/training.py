"""The network of `digits.rlx`, trained in a second: eight pixels square, four fixed filters, one hidden layer."""

import warnings
from dataclasses import dataclass
from pathlib import Path
from shutil import copy

import numpy as np

from rlx_ir.constants.safetensors import write_safetensors

SOURCE = Path(__file__).with_name("digits.rlx")
TESTED = 200
# Sobel's filters for the four directions that a stroke may have.
EDGES = np.array(
    [
        [[1, 0, -1], [2, 0, -2], [1, 0, -1]],
        [[1, 2, 1], [0, 0, 0], [-1, -2, -1]],
        [[2, 1, 0], [1, 0, -1], [0, -1, -2]],
        [[0, 1, 2], [-1, 0, 1], [-2, -1, 0]],
    ],
    np.float32,
)[:, None]


@dataclass(frozen=True)
class Digits:
    """Where the model lies, and pictures it was not trained on: `pictures[n, 1, 32, 32]` of bytes with their labels."""

    source: Path
    pictures: np.ndarray
    labels: np.ndarray


def train(folder: Path) -> Digits:
    """Trains on scikit-learn's digits and writes `digits.rlx` with its weights into `folder`."""
    from sklearn.datasets import load_digits
    from sklearn.neural_network import MLPClassifier

    digits = load_digits()
    # As a camera would give them: bytes, and four times as wide and high.
    small = (digits.images * (255 / 16)).round().astype(np.uint8)
    pictures = np.kron(small, np.ones((4, 4), np.uint8)).astype(np.uint8)[:, None]
    features = filtered(small)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it need not converge
        network = MLPClassifier(hidden_layer_sizes=(32,), max_iter=30, random_state=0)
        network.fit(features[TESTED:], digits.target[TESTED:])
    tensors = {"edges": EDGES}
    for name, weight, bias in zip(("hidden", "output"), network.coefs_, network.intercepts_, strict=True):
        tensors |= {f"{name}.weight": weight.astype(np.float32), f"{name}.bias": bias.astype(np.float32)}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "digits.safetensors").write_bytes(write_safetensors(tensors))
    return Digits(Path(copy(SOURCE, folder)), pictures[:TESTED], digits.target[:TESTED])


def filtered(small: np.ndarray) -> np.ndarray:
    """What the network's first layers make of pictures of 8 × 8 bytes: [n, 4 · 8 · 8]."""
    padded = np.pad(small / np.float32(255), ((0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))
    maps = np.einsum("nyxij,cij->ncyx", windows, EDGES[:, 0])
    return np.maximum(maps, 0).reshape(len(small), -1)
