"""MultiplyByInverse: x ÷ c of a constant c becomes x · (1 ÷ c), which every processor does many times faster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rlx_ir.module import Node
from rlx_ir.ops.arithmetic import Div, Mul
from rlx_ir.passes.base import Rewrite, Rewriting

__all__ = ["MultiplyByInverse"]


@dataclass(frozen=True)
class MultiplyByInverse(Rewrite):
    """x ÷ c → x · (1 ÷ c), of floats of 32 or 64 bits.

    Holds where c is constant and both c and 1 ÷ c are normal numbers: then the result differs by rounding alone, and
    infinity, NaN and zero stay what they are. Exact where c is a power of two.
    """

    name = "multiply-by-inverse"
    kinds = (Div,)

    def rewrite(self, node: Node, graph: Rewriting) -> Sequence[str] | None:
        x, divisor = node.operands
        c = graph.array(divisor)
        if c is None or divisor is None or c.dtype not in (np.float32, np.float64) or c.size == 0:
            return None
        with np.errstate(all="ignore"):
            inverse = (1.0 / c.astype(np.float64)).astype(c.dtype)
        if not (_normal(c) and _normal(inverse)):
            return None
        return graph.add(
            Mul(), x, graph.constant(f"{divisor}_inverse", inverse, like=graph.constant_at(divisor)), like=node
        )


def _normal(numbers: NDArray[np.generic]) -> bool:
    """Whether all are finite, not 0, and have all their digits."""
    sizes = np.abs(numbers.astype(np.float64))
    smallest = np.finfo(np.float32 if numbers.dtype == np.float32 else np.float64).tiny
    return bool(np.all(np.isfinite(sizes) & (sizes >= smallest)))
