"""FoldConstants: what depends on constants alone is computed once, when compiling."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rlx_ir.module import Computed, Constant, Node
from rlx_ir.ops.reshape import Expand
from rlx_ir.passes.base import Rewrite, Rewriting
from rlx_ir.regions import RegionOp

__all__ = ["FoldConstants"]


@dataclass(frozen=True)
class FoldConstants(Rewrite):
    """op(constants) becomes a constant, as its reference computes it.

    Holds for every op without regions, since all are pure. Left alone where a result is larger than `most_bytes`, or
    where an `expand` would only make a constant larger.
    """

    name = "fold-constants"

    most_bytes: int = 64 << 20

    def rewrite(self, node: Node, graph: Rewriting) -> Sequence[str] | None:
        given = [name for name in node.operands if name is not None]
        if isinstance(node.op, RegionOp | Expand) or not given or not all(map(graph.is_constant, given)):
            return None
        for result in node.results:
            sizes = [size for size in result.tensor.shape if isinstance(size, int)]
            if len(sizes) < result.tensor.rank or math.prod(sizes) * result.tensor.dtype.itemsize > self.most_bytes:
                return None
            if result.tensor.dtype.numpy is None:
                return None
        with np.errstate(all="ignore"):
            arrays = node.op.reference(*(graph.array(name) for name in node.operands))
        names = []
        for result, array in zip(node.results, arrays, strict=True):
            frozen = np.ascontiguousarray(array).reshape(array.shape)
            frozen.flags.writeable = False
            names.append(graph.adopt(Constant(result.name, result.tensor, Computed(frozen), result.span)))
        return names
