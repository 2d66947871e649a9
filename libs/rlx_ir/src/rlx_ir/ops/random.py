"""Random numbers, on the host: a kernel gives the same result each time, these need not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from rlx_base.dtypes import DTYPES, FLOAT32, DType
from rlx_ir.dims import Shape
from rlx_ir.elements import numpy_of
from rlx_ir.op import Array, HostOp, register
from rlx_ir.ops.rules import check_dtype, refuse
from rlx_ir.types import TensorType

__all__ = ["Multinomial", "Random"]


def generator(seed: int | None) -> np.random.RandomState:
    """NumPy's legacy stream, the same on every platform; from the system's own entropy without a seed."""
    return np.random.RandomState(seed)


@register
@dataclass(frozen=True, slots=True)
class Random(HostOp):
    """Numbers between low and high ("uniform"), or around a mean with a deviation ("normal").

    With a seed the same ones in every run; without, others each time. `stream` tells apart nodes that are alike in all
    else, which would be one otherwise. Errors: E110 for sizes below 0, or a dtype that is no float.
    Source: ONNX RandomUniform-22, RandomNormal-22.
    """

    name = "random"
    operands = ()

    shape: tuple[int, ...]
    distribution: Literal["uniform", "normal"] = "uniform"
    low: float = 0.0
    high: float = 1.0
    mean: float = 0.0
    deviation: float = 1.0
    dtype: DType = FLOAT32
    seed: int | None = None
    stream: int = 0

    def infer(self) -> tuple[TensorType, ...]:
        check_dtype(self.name, "dtype", self.dtype, "float")
        if min(self.shape, default=0) < 0:
            raise refuse(self.name, f"the shape is {list(self.shape)}", "give sizes ≥ 0")
        return (TensorType(self.shape, self.dtype),)

    def reference(self) -> tuple[Array, ...]:
        numbers = generator(self.seed)
        if self.distribution == "uniform":
            drawn = numbers.uniform(self.low, self.high, self.shape)
        else:
            drawn = numbers.normal(self.mean, self.deviation, self.shape)
        return (np.asarray(drawn).astype(numpy_of(self.dtype)),)


@register
@dataclass(frozen=True, slots=True)
class Multinomial(HostOp):
    """Classes drawn for each row of x, which holds the logarithms of their (unscaled) probabilities.

    Shapes: (b, classes) → (b, samples), int32 or int64. `seed` and `stream` as in `random`.
    Errors: E110 for another rank, no classes, or no integer dtype. Source: ONNX Multinomial-22.
    """

    name = "multinomial"
    operands = ("x",)

    samples: int = 1
    dtype: DType = DTYPES["int32"]
    seed: int | None = None
    stream: int = 0

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        check_dtype(self.name, "x", x.dtype, "float")
        check_dtype(self.name, "dtype", self.dtype, "integer")
        if x.rank != 2 or x.shape[1] == 0 or self.samples < 0:
            raise refuse(self.name, f"x is {x}, samples={self.samples}", "give (b, classes), and samples ≥ 0")
        shape: Shape = (x.shape[0], self.samples)
        return (TensorType(shape, self.dtype),)

    def reference(self, x: Array) -> tuple[Array, ...]:
        wide = x.astype(np.float64)
        weights = np.exp(wide - wide.max(axis=1, keepdims=True))
        ends = np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1)
        drawn = generator(self.seed).uniform(0, 1, (len(x), self.samples))
        chosen = (drawn[:, :, None] >= ends[:, None, :-1]).sum(axis=2)
        return (chosen.astype(numpy_of(self.dtype)),)
