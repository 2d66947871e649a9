"""FoldConstants: what depends on constants alone is computed once, when compiling."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rlx_ir.elements import EXTENDED, reference
from rlx_ir.module import Computed, Constant, Node
from rlx_ir.op import HostOp
from rlx_ir.ops.copying import Cast
from rlx_ir.ops.reshape import Expand
from rlx_ir.passes.base import Rewrite, Rewriting
from rlx_ir.regions import RegionOp

__all__ = ["FoldConstants"]

_MOST_UNPACKED: Final = 64


@dataclass(frozen=True)
class FoldConstants(Rewrite):
    """op(constants) becomes a constant, as its reference computes it.

    Holds for every op without regions, since all are pure. Left alone where a result is larger than `most_bytes`, or
    where an `expand`, or a `cast` of packed numbers, would only make a constant larger.
    """

    name = "fold-constants"

    most_bytes: int = 64 << 20

    def rewrite(self, node: Node, graph: Rewriting) -> Sequence[str] | None:
        given = [name for name in node.operands if name is not None]
        if isinstance(node.op, RegionOp | HostOp | Expand) or not given or not all(map(graph.is_constant, given)):
            return None
        if isinstance(node.op, Cast) and _is_packed(graph.array(given[0])):
            return None
        for result in node.results:
            sizes = [size for size in result.tensor.shape if isinstance(size, int)]
            if len(sizes) < result.tensor.rank or math.prod(sizes) * result.tensor.dtype.itemsize > self.most_bytes:
                return None
        with np.errstate(all="ignore"):
            operands = [None if name is None else graph.array(name) for name in node.operands]
            arrays = reference(node.op, operands, [result.tensor for result in node.results])
        names = []
        for result, array in zip(node.results, arrays, strict=True):
            frozen = np.ascontiguousarray(array).reshape(array.shape)
            frozen.flags.writeable = False
            names.append(graph.adopt(Constant(result.name, result.tensor, Computed(frozen), result.span)))
        return names


def _is_packed(array: NDArray[Any] | None) -> bool:
    """Whether these are many numbers of bfloat16, float8, int4 …, which kernels read as they are."""
    return array is not None and array.dtype.name in EXTENDED and array.size > _MOST_UNPACKED
