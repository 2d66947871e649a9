"""ViT-tiny: the vision transformer (12 layers, 192 wide, 3 heads) on 16 x 16 patches of 224 x 224, seeded weights."""

from __future__ import annotations

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto

from benchmarks.models.graph import Graph

__all__ = ["flops", "inputs", "model"]

LAYERS, WIDTH, HEADS, INNER = 12, 192, 3, 768
SIDE, PATCH, CLASSES = 224, 16, 1000
PATCHES = (SIDE // PATCH) ** 2
TOKENS = PATCHES + 1
_EPSILON = 1e-6


def model(seed: int = 0) -> onnx.ModelProto:
    """image → logits."""
    graph = Graph("vit_tiny", seed)
    fan_in = 3 * PATCH * PATCH
    kernel = graph.floats(WIDTH, 3, PATCH, PATCH, scale=fan_in**-0.5)
    bias = graph.floats(WIDTH, scale=0.1)
    patches = graph.make("Conv", "image", kernel, bias, strides=[PATCH, PATCH], kernel_shape=[PATCH, PATCH])
    rows = graph.make("Transpose", graph.reshape(patches, 1, WIDTH, PATCHES), perm=[0, 2, 1])
    value = graph.make("Concat", graph.floats(1, 1, WIDTH, scale=0.5), rows, axis=1)
    value = graph.make("Add", value, graph.floats(1, TOKENS, WIDTH, scale=0.5))
    for _ in range(LAYERS):
        value = _block(graph, value)
    value = graph.layer_norm(value, WIDTH, _EPSILON)
    first = graph.make("Gather", value, graph.constant(np.array(0, np.int64)), axis=1)
    weight, bias = graph.floats(WIDTH, CLASSES, scale=WIDTH**-0.5), graph.floats(CLASSES, scale=0.1)
    graph.make("Gemm", first, weight, bias, name="logits")
    image = (TensorProto.FLOAT, [1, 3, SIDE, SIDE])
    return graph.model({"image": image}, {"logits": [1, CLASSES]})


def _block(graph: Graph, value: str) -> str:
    size = WIDTH // HEADS
    normal = graph.layer_norm(value, WIDTH, _EPSILON)
    joint = graph.reshape(graph.dense(normal, WIDTH, 3 * WIDTH), 1, TOKENS, 3, HEADS, size)
    parts = graph.split(graph.make("Transpose", joint, perm=[2, 0, 3, 1, 4]), 3, axis=0)
    q, k, v = (graph.reshape(part, 1, HEADS, TOKENS, size) for part in parts)
    k = graph.make("Transpose", k, perm=[0, 1, 3, 2])
    context = graph.attention((q, k, v), size, TOKENS, WIDTH, None)
    value = graph.make("Add", value, graph.dense(context, WIDTH, WIDTH))
    normal = graph.layer_norm(value, WIDTH, _EPSILON)
    inner = graph.gelu(graph.dense(normal, WIDTH, INNER))
    return graph.make("Add", value, graph.dense(inner, INNER, WIDTH))


def inputs(seed: int = 0) -> dict[str, NDArray[np.generic]]:
    return {"image": np.random.default_rng(seed).standard_normal((1, 3, SIDE, SIDE), np.float32)}


def flops() -> int:
    """Of one inference: two for each multiply-add of the products."""
    dense = TOKENS * (4 * WIDTH * WIDTH + 2 * WIDTH * INNER)
    ends = PATCHES * WIDTH * 3 * PATCH * PATCH + WIDTH * CLASSES
    return 2 * (LAYERS * (dense + 2 * TOKENS * TOKENS * WIDTH) + ends)
