"""ResNet-18 and ResNet-50 (the variant with its stride in the 3×3 convolution), seeded weights, 224 × 224 images."""

from __future__ import annotations

import onnx

from benchmarks.models.convolutional import ConvolutionalGraph, inputs

__all__ = ["flops18", "flops50", "inputs", "model18", "model50"]

_STAGES_18, _STAGES_50 = (2, 2, 2, 2), (3, 4, 6, 3)
_WIDTHS = (64, 128, 256, 512)
_EXPANSION = 4  # of a bottleneck's last convolution


def model18(seed: int = 0) -> onnx.ModelProto:
    """image → logits, of blocks of two 3×3 convolutions."""
    return _graph("resnet18", _STAGES_18, bottleneck=False, seed=seed).finished()


def model50(seed: int = 0) -> onnx.ModelProto:
    """image → logits, of bottlenecks: 1×1, 3×3, 1×1."""
    return _graph("resnet50", _STAGES_50, bottleneck=True, seed=seed).finished()


def flops18() -> int:
    return _graph("resnet18", _STAGES_18, bottleneck=False, seed=0).flops


def flops50() -> int:
    return _graph("resnet50", _STAGES_50, bottleneck=True, seed=0).flops


def _graph(name: str, stages: tuple[int, ...], *, bottleneck: bool, seed: int) -> ConvolutionalGraph:
    graph = ConvolutionalGraph(name, seed)
    value = graph.convolution("image", 64, kernel=7, stride=2, activation="Relu")
    value = graph.max_pool(value, kernel=3, stride=2)
    for width, blocks, stage in zip(_WIDTHS, stages, range(4), strict=True):
        for block in range(blocks):
            stride = 2 if stage > 0 and block == 0 else 1
            value = (_bottleneck if bottleneck else _basic)(graph, value, width, stride)
    graph.classifier(value)
    return graph


def _basic(graph: ConvolutionalGraph, source: str, width: int, stride: int) -> str:
    value = graph.convolution(source, width, kernel=3, stride=stride, activation="Relu")
    value = graph.convolution(value, width, kernel=3)
    return graph.relu(graph.add(value, _shortcut(graph, source, width, stride)))


def _bottleneck(graph: ConvolutionalGraph, source: str, width: int, stride: int) -> str:
    value = graph.convolution(source, width, kernel=1, activation="Relu")
    value = graph.convolution(value, width, kernel=3, stride=stride, activation="Relu")
    value = graph.convolution(value, _EXPANSION * width, kernel=1)
    return graph.relu(graph.add(value, _shortcut(graph, source, _EXPANSION * width, stride)))


def _shortcut(graph: ConvolutionalGraph, source: str, width: int, stride: int) -> str:
    """The block's input, by a 1×1 convolution where the shape changes."""
    if graph.channels(source) == width and stride == 1:
        return source
    return graph.convolution(source, width, kernel=1, stride=stride)
