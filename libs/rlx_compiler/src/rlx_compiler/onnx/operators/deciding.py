"""Axes that are known only at run time: the result is formed along each one that is possible, and one is chosen.

What the model declares for the result leaves few axes possible, mostly one: a reduction of (3, 2, 4) to (3, 1, 4) is
along axis 1, whatever an input says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np

from rlx_base.dtypes import INT64
from rlx_compiler.onnx.translation import Call, Value
from rlx_ir.ops.comparison import Equal, LogicalOr
from rlx_ir.ops.copying import Where
from rlx_ir.ops.reshape import Reshape

__all__ = ["along_chosen", "reduced_axes", "several_axes"]


def along_chosen(call: Call, axis: Value, rank: int, possible: Sequence[int], make: Callable[[int], Value]) -> Value:
    """`make` of the axis that a tensor of one element says, from either end; each possible one gives the same shape."""
    y = make(possible[-1])
    if len(possible) == 1:
        return y
    scalar = call.cast(call.apply(Reshape((), True), axis), INT64)
    for place in reversed(possible[:-1]):
        front, back = (call.apply(Equal(), scalar, call.constant(np.int64(n))) for n in (place, place - rank))
        y = call.apply(Where(), call.apply(LogicalOr(), front, back), make(place), y)
    return y


def reduced_axes(call: Call, axes: Value, keepdims: bool) -> list[int] | None:
    """The axes that one unknown axis can be, by the declared result; None where that says too little."""
    x, declared = call[0], call.declared_shape()
    shape = x.type.shape
    if declared is None or axes.type.shape != (1,):
        return None
    fitting = []
    for place in range(x.rank):
        rest = (*shape[:place], *((1,) if keepdims else ()), *shape[place + 1 :])
        if rest == declared:
            fitting.append(place)
    return fitting or None


def several_axes(call: Call, axes: Value, keepdims: bool) -> tuple[int, ...] | None:
    """Two or more unknown axes, where the declared result leaves no choice."""
    x, declared, count = call[0], call.declared_shape(), axes.type.shape[0] if axes.rank == 1 else None
    if declared is None or not isinstance(count, int) or not 2 <= count <= x.rank:
        return None
    fitting = []
    for places in combinations(range(x.rank), count):
        shape = [1 if i in places else size for i, size in enumerate(x.type.shape) if keepdims or i not in places]
        if tuple(shape) == declared:
            fitting.append(places)
    return fitting[0] if len(fitting) == 1 else None
