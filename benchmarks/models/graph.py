"""An ONNX graph under construction: nodes, weights from one seeded stream, and the layers of a transformer."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

__all__ = ["Graph"]

_OPSET = 17
_IR_VERSION = 8


class Graph:
    """Collects nodes and initializers. Values are called by their names; every `make` gives the name of its result."""

    def __init__(self, name: str, seed: int) -> None:
        self.name = name
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self._random = np.random.default_rng(seed)
        self._count = 0

    def constant(self, elements: NDArray[Any], name: str = "") -> str:
        """An initializer with these elements."""
        name = name or self._fresh("constant")
        self.initializers.append(numpy_helper.from_array(elements, name))
        return name

    def floats(self, *shape: int, scale: float = 1.0, mean: float = 0.0) -> str:
        """An initializer of normally distributed floats."""
        elements = self._random.standard_normal(shape, np.float32) * np.float32(scale) + np.float32(mean)
        return self.constant(elements.astype(np.float32))

    def make(self, kind: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        """A node with one result."""
        name = name or self._fresh(kind)
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def split(self, value: str, count: int, axis: int) -> list[str]:
        """Equal parts along an axis."""
        names = [self._fresh("Split") for _ in range(count)]
        self.nodes.append(helper.make_node("Split", [value], names, axis=axis))
        return names

    def reshape(self, value: str, *shape: int) -> str:
        return self.make("Reshape", value, self.constant(np.array(shape, np.int64)))

    def dense(self, value: str, inputs: int, outputs: int) -> str:
        """x · W + b, as exporters write it for more than two dimensions; results of the order of the inputs."""
        product = self.make("MatMul", value, self.floats(inputs, outputs, scale=inputs**-0.5))
        return self.make("Add", self.floats(outputs, scale=0.1), product)

    def layer_norm(self, value: str, width: int, epsilon: float) -> str:
        scale, bias = self.floats(width, scale=0.1, mean=1.0), self.floats(width, scale=0.1)
        return self.make("LayerNormalization", value, scale, bias, axis=-1, epsilon=epsilon)

    def gelu(self, value: str) -> str:
        """x · ½ · (1 + erf(x ÷ √2)), node by node, since opset 17 has no Gelu."""
        erf = self.make("Erf", self.make("Div", value, self.scalar(2**0.5)))
        gate = self.make("Add", erf, self.scalar(1.0))
        return self.make("Mul", self.make("Mul", value, gate), self.scalar(0.5))

    def scalar(self, value: float) -> str:
        return self.constant(np.array(value, np.float32))

    def attention(self, heads: tuple[str, str, str], size: int, tokens: int, width: int, mask: str | None) -> str:
        """softmax(q · k ÷ √size + mask) · v of q and v (…, token, size), k (…, size, token), as (1, token, width)."""
        q, k, v = heads
        scores = self.make("Div", self.make("MatMul", q, k), self.scalar(size**0.5))
        if mask is not None:
            scores = self.make("Add", scores, mask)
        context = self.make("MatMul", self.make("Softmax", scores, axis=-1), v)
        return self.reshape(self.make("Transpose", context, perm=[0, 2, 1, 3]), 1, tokens, width)

    def model(self, inputs: dict[str, tuple[int, list[int]]], outputs: dict[str, list[int]]) -> onnx.ModelProto:
        """The checked model. `inputs` gives element type and shape, outputs are float32."""
        graph = helper.make_graph(
            self.nodes,
            self.name,
            [helper.make_tensor_value_info(name, kind, shape) for name, (kind, shape) in inputs.items()],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs.items()],
            self.initializers,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR_VERSION)
        onnx.checker.check_model(model, full_check=True)
        return model

    def _fresh(self, stem: str) -> str:
        self._count += 1
        return f"{stem}_{self._count}"
