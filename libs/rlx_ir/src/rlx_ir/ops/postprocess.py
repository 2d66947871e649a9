"""postprocess: what a program does with a network's raw output, as an op, so that it runs where the network runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from rlx_base.dtypes import INT64
from rlx_ir.expr import Tensor
from rlx_ir.op import Array, Op, register
from rlx_ir.ops.rules import check_dtype, inherit, refuse
from rlx_ir.ops.selection import top_k_reference, top_k_shape, top_k_stages
from rlx_ir.ops.softmax import Softmax
from rlx_ir.types import TensorType

__all__ = ["Postprocess"]


@register
@dataclass(frozen=True, slots=True)
class Postprocess(Op):
    """kind "softmax_topk": the k greatest of softmax(x) along the last dimension, falling, and their indices.

    Shapes: (…, classes) → (…, k) twice; indices are int64. Errors: E110 for a rank of 0 or k larger than the classes.
    Source: the composition of `softmax` and `top_k`.
    """

    name = "postprocess"
    operands = ("x",)
    results = ("values", "indices")

    kind: Literal["softmax_topk"] = "softmax_topk"
    k: int = 5

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        check_dtype(self.name, "x", x.dtype, "float")
        if x.rank == 0:
            raise refuse(self.name, f"x is {x}", "it has a dimension of classes: (…, classes)")
        shape = top_k_shape(self.name, x.shape, -1, self.k)
        return inherit(x, shape), inherit(x, shape, INT64)

    def expression(self, x: Tensor) -> tuple[Tensor, ...]:
        (probabilities,) = Softmax(-1).expression(x)
        return top_k_stages(replace(probabilities, name="probabilities"), x.rank - 1, self.k)

    def reference(self, x: Array) -> tuple[Array, ...]:
        (probabilities,) = Softmax(-1).reference(x)
        return top_k_reference(np.asarray(probabilities), self.k, -1)
