"""MobileNetV2 at width 1.0, seeded weights, 224 × 224 images."""

from __future__ import annotations

import onnx

from benchmarks.models.convolutional import ConvolutionalGraph, inputs

__all__ = ["flops", "inputs", "model"]

# expansion, channels, blocks, stride of the first: table 2 of Sandler et al., 2018
_BLOCKS = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)
_STEM, _HEAD = 32, 1280


def model(seed: int = 0) -> onnx.ModelProto:
    """image → logits."""
    return _graph(seed).finished()


def flops() -> int:
    return _graph(0).flops


def _graph(seed: int) -> ConvolutionalGraph:
    graph = ConvolutionalGraph("mobilenetv2", seed)
    value = graph.convolution("image", _STEM, kernel=3, stride=2, activation="Clip")
    for expansion, width, blocks, stride in _BLOCKS:
        for block in range(blocks):
            value = _inverted_residual(graph, value, expansion, width, stride if block == 0 else 1)
    value = graph.convolution(value, _HEAD, kernel=1, activation="Clip")
    graph.classifier(value)
    return graph


def _inverted_residual(graph: ConvolutionalGraph, source: str, expansion: int, width: int, stride: int) -> str:
    """1×1 up, 3×3 per channel, 1×1 down, the input added where the shape is the same."""
    inner = expansion * graph.channels(source)
    value = source
    if expansion != 1:
        value = graph.convolution(value, inner, kernel=1, activation="Clip")
    value = graph.convolution(value, inner, kernel=3, stride=stride, groups=inner, activation="Clip")
    value = graph.convolution(value, width, kernel=1)
    return graph.add(value, source) if stride == 1 and graph.channels(source) == width else value
