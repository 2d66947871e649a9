"""MiniLM-L6: the sentence encoder (6 layers, 384 wide, 12 heads), at 128 tokens, with seeded weights."""

from __future__ import annotations

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto

from benchmarks.models.graph import Graph

__all__ = ["flops", "inputs", "model"]

LAYERS, WIDTH, HEADS, INNER = 6, 384, 12, 1536
VOCABULARY, POSITIONS, TOKENS = 30522, 512, 128
_EPSILON = 1e-12
_PADDING = 17  # tokens at the end that the mask hides


def model(seed: int = 0) -> onnx.ModelProto:
    """input_ids, attention_mask, token_type_ids → last_hidden_state, as BERT is exported."""
    graph = Graph("minilm", seed)
    words = graph.make("Gather", graph.floats(VOCABULARY, WIDTH), "input_ids")
    types = graph.make("Gather", graph.floats(2, WIDTH, scale=0.1), "token_type_ids")
    places = graph.floats(1, TOKENS, WIDTH, scale=0.5)
    value = graph.make("Add", graph.make("Add", words, types), places)
    value = graph.layer_norm(value, WIDTH, _EPSILON)
    mask = _mask(graph)
    for _ in range(LAYERS):
        value = _layer(graph, value, mask)
    graph.nodes[-1].output[0] = "last_hidden_state"
    ids = (TensorProto.INT64, [1, TOKENS])
    names = ("input_ids", "attention_mask", "token_type_ids")
    return graph.model(dict.fromkeys(names, ids), {"last_hidden_state": [1, TOKENS, WIDTH]})


def _mask(graph: Graph) -> str:
    """0 where a token counts, −10000 where not, over heads and queries."""
    axes = graph.constant(np.array([1, 2], np.int64))
    counts = graph.make("Cast", graph.make("Unsqueeze", "attention_mask", axes), to=TensorProto.FLOAT)
    return graph.make("Mul", graph.make("Sub", graph.scalar(1.0), counts), graph.scalar(-10000.0))


def _layer(graph: Graph, value: str, mask: str) -> str:
    size = WIDTH // HEADS

    def heads(order: list[int]) -> str:
        rows = graph.reshape(graph.dense(value, WIDTH, WIDTH), 1, TOKENS, HEADS, size)
        return graph.make("Transpose", rows, perm=order)

    split = (heads([0, 2, 1, 3]), heads([0, 2, 3, 1]), heads([0, 2, 1, 3]))
    context = graph.attention(split, size, TOKENS, WIDTH, mask)
    value = graph.make("Add", graph.dense(context, WIDTH, WIDTH), value)
    value = graph.layer_norm(value, WIDTH, _EPSILON)
    inner = graph.gelu(graph.dense(value, WIDTH, INNER))
    value = graph.make("Add", graph.dense(inner, INNER, WIDTH), value)
    return graph.layer_norm(value, WIDTH, _EPSILON)


def inputs(seed: int = 0) -> dict[str, NDArray[np.generic]]:
    """A sentence of random tokens, with padding at its end."""
    ids = np.random.default_rng(seed).integers(0, VOCABULARY, (1, TOKENS))
    mask = np.ones((1, TOKENS), np.int64)
    mask[:, -_PADDING:] = 0
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros((1, TOKENS), np.int64)}


def flops() -> int:
    """Of one inference: two for each multiply-add of the products."""
    dense = TOKENS * (4 * WIDTH * WIDTH + 2 * WIDTH * INNER)
    return 2 * LAYERS * (dense + 2 * TOKENS * TOKENS * WIDTH)
