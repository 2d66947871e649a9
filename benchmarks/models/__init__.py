"""The networks that are measured, each a module with `model()` (ONNX), `inputs()` and `flops()`.

Weights are seeded and of the order that keeps activations near 1; only EfficientNet-Lite0's are trained ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import onnx

from benchmarks.models import lite0, minilm, mobilenet, resnet, vit

__all__ = ["NETWORKS", "Network"]


@dataclass(frozen=True)
class Network:
    """`goal`: the ratio to the better peer that RLX is built to reach."""

    title: str
    goal: float
    model: Callable[[], onnx.ModelProto]
    inputs: Callable[[], Mapping[str, np.ndarray]]
    flops: Callable[[], int]


NETWORKS: Final[Mapping[str, Network]] = {
    "resnet18": Network("ResNet-18", 0.70, resnet.model18, resnet.inputs, resnet.flops18),
    "resnet50": Network("ResNet-50", 0.85, resnet.model50, resnet.inputs, resnet.flops50),
    "mobilenetv2": Network("MobileNetV2", 0.85, mobilenet.model, mobilenet.inputs, mobilenet.flops),
    "efficientnet_lite0": Network("EfficientNet-Lite0", 0.90, lite0.model, lite0.inputs, lite0.flops),
    "vit_tiny": Network("ViT-tiny", 0.90, vit.model, vit.inputs, vit.flops),
    "minilm": Network("MiniLM-L6, 128 tokens", 0.80, minilm.model, minilm.inputs, minilm.flops),
}
