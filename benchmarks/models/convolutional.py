"""An ONNX graph of an image network under construction: it knows each image's shape, and counts the arithmetic."""

from __future__ import annotations

from typing import Literal

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto

from benchmarks.models.graph import Graph

__all__ = ["CLASSES", "SIDE", "ConvolutionalGraph", "inputs"]

SIDE, CLASSES = 224, 1000
_EPSILON = 1e-5
# Rectifiers halve the variance, so weights have twice that which would keep it: He et al., 2015.
_HE = 2.0


class ConvolutionalGraph(Graph):
    """From `image` (1, 3, 224, 224) to `logits` (1, 1000). `flops` counts two for each multiply-add so far."""

    def __init__(self, name: str, seed: int) -> None:
        super().__init__(name, seed)
        self.flops = 0
        self._shapes = {"image": (3, SIDE)}

    def channels(self, value: str) -> int:
        return self._shapes[value][0]

    def convolution(
        self,
        source: str,
        width: int,
        *,
        kernel: int,
        stride: int = 1,
        groups: int = 1,
        activation: Literal["Relu", "Clip"] | None = None,
    ) -> str:
        """Conv, batch normalization, and an activation (`Clip`: to 0 … 6). Odd kernels keep size ÷ stride."""
        channels, side = self._shapes[source]
        fan_in = channels // groups * kernel * kernel
        weight = self.floats(width, channels // groups, kernel, kernel, scale=(_HE / fan_in) ** 0.5)
        value = self.make(
            "Conv",
            source,
            weight,
            kernel_shape=[kernel, kernel],
            strides=[stride, stride],
            pads=[kernel // 2] * 4,
            group=groups,
        )
        value = self.make("BatchNormalization", value, *self._statistics(width), epsilon=_EPSILON)
        if activation == "Relu":
            value = self.make("Relu", value)
        elif activation == "Clip":
            value = self.make("Clip", value, self.scalar(0.0), self.scalar(6.0))
        side = -(-side // stride)
        self.flops += 2 * fan_in * width * side * side
        return self._is(value, width, side)

    def max_pool(self, source: str, *, kernel: int, stride: int) -> str:
        channels, side = self._shapes[source]
        sides = {"kernel_shape": [kernel, kernel], "strides": [stride, stride], "pads": [kernel // 2] * 4}
        return self._is(self.make("MaxPool", source, **sides), channels, -(-side // stride))

    def add(self, value: str, other: str) -> str:
        return self._is(self.make("Add", value, other), *self._shapes[value])

    def relu(self, value: str) -> str:
        return self._is(self.make("Relu", value), *self._shapes[value])

    def classifier(self, source: str) -> str:
        """The mean of each channel, and a dense layer to the classes."""
        width = self.channels(source)
        row = self.make("Flatten", self.make("GlobalAveragePool", source), axis=1)
        weight, bias = self.floats(CLASSES, width, scale=width**-0.5), self.floats(CLASSES, scale=0.1)
        self.flops += 2 * width * CLASSES
        return self.make("Gemm", row, weight, bias, name="logits", transB=1)

    def finished(self) -> onnx.ModelProto:
        """The checked model."""
        image = (TensorProto.FLOAT, [1, 3, SIDE, SIDE])
        return self.model({"image": image}, {"logits": [1, CLASSES]})

    def _statistics(self, width: int) -> tuple[str, str, str, str]:
        """Scale, bias, mean and variance of a batch normalization that has learned a little."""
        scale, bias = self.floats(width, scale=0.1, mean=1.0), self.floats(width, scale=0.1)
        mean, variance = self.floats(width, scale=0.1), self.floats(width, scale=0.05, mean=1.0)
        return scale, bias, mean, variance

    def _is(self, value: str, channels: int, side: int) -> str:
        self._shapes[value] = (channels, side)
        return value


def inputs(seed: int = 0) -> dict[str, NDArray[np.generic]]:
    """A seeded image."""
    return {"image": np.random.default_rng(seed).standard_normal((1, 3, SIDE, SIDE), np.float32)}
