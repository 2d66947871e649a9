"""Arithmetic between values of a graph, for importers that compute places at run time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rlx_base.dtypes import FLOAT64, INT64, DType
from rlx_compiler.onnx.translation import Call, Value
from rlx_ir.elements import numpy_of
from rlx_ir.op import Op
from rlx_ir.ops.arithmetic import Abs, Add, Div, Max, Min, Mod, Mul, Sub
from rlx_ir.ops.comparison import Equal, Less, LogicalAnd
from rlx_ir.ops.copying import Where
from rlx_ir.ops.functions import Ceil, Floor
from rlx_ir.ops.indexing import Gather
from rlx_ir.ops.reshape import Reshape

__all__ = ["Numbers", "floats"]

Operand = Value | float | int | NDArray[np.generic]


@dataclass(frozen=True, slots=True)
class Numbers:
    """Formulas over values of one dtype; plain numbers and arrays become constants of it."""

    call: Call
    dtype: DType = INT64

    def of(self, operand: Operand) -> Value:
        if isinstance(operand, Value):
            return self.call.cast(operand, self.dtype)
        return self.call.constant(np.asarray(operand).astype(numpy_of(self.dtype)))

    def _two(self, op: Op, a: Operand, b: Operand) -> Value:
        return self.call.apply(op, self.of(a), self.of(b))

    def add(self, a: Operand, b: Operand) -> Value:
        return self._two(Add(), a, b)

    def sub(self, a: Operand, b: Operand) -> Value:
        return self._two(Sub(), a, b)

    def mul(self, a: Operand, b: Operand) -> Value:
        return self._two(Mul(), a, b)

    def div(self, a: Operand, b: Operand) -> Value:
        return self._two(Div(), a, b)

    def mod(self, a: Operand, b: Operand) -> Value:
        return self._two(Mod(), a, b)

    def least(self, a: Operand, b: Operand) -> Value:
        return self._two(Min(), a, b)

    def most(self, a: Operand, b: Operand) -> Value:
        return self._two(Max(), a, b)

    def less(self, a: Operand, b: Operand) -> Value:
        return self._two(Less(), a, b)

    def equal(self, a: Operand, b: Operand) -> Value:
        return self._two(Equal(), a, b)

    def absolute(self, a: Operand) -> Value:
        return self.call.apply(Abs(), self.of(a))

    def floor(self, a: Operand) -> Value:
        return self.call.apply(Floor(), self.of(a))

    def ceil(self, a: Operand) -> Value:
        return self.call.apply(Ceil(), self.of(a))

    def clamp(self, a: Operand, low: Operand, high: Operand) -> Value:
        return self.least(self.most(a, low), high)

    def where(self, condition: Value, a: Operand, b: Operand) -> Value:
        return self.call.apply(Where(), condition, self.of(a), self.of(b))

    def inside(self, a: Operand, low: Operand, high: Operand) -> Value:
        """Whether low ≤ a < high."""
        outside = self.less(a, low)
        return self.call.apply(
            LogicalAnd(), self.call.apply(Equal(), outside, self.call.constant(np.array(False))), self.less(a, high)
        )

    def element(self, vector: Value, place: int) -> Value:
        """One element of a vector, as a scalar."""
        return self.of(self.call.apply(Gather(0), vector, self.call.constant(np.int64(place))))

    def scalar(self, value: Value) -> Value:
        """The element of a tensor that has one."""
        return self.of(self.call.apply(Reshape((), True), value))


def floats(call: Call) -> Numbers:
    """Formulas in float64."""
    return Numbers(call, FLOAT64)
