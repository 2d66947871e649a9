"""What the steps of an algorithm cost, in cycles of one core: the figures by which algorithms are compared.

They are those of a current core, measured on ours: two vector multiply-adds a cycle, of which a good kernel reaches
90 %, and 3.3 bytes a cycle from beyond the second level of cache. Only ratios matter; they choose an algorithm, and
never change a result beyond its rounding.
"""

from __future__ import annotations

from typing import Final

from rlx_base.dtypes import FLOAT32
from rlx_compiler.convolution.problem import Convolution
from rlx_compiler.targets.spec import TargetSpec

__all__ = ["direct", "multiplied", "spilled", "streamed"]

_PER_CYCLE: Final = 2 * 0.9
_BYTES_PER_CYCLE: Final = 3.3
_EDGE: Final = 1.3  # more than inside: a pixel beside the padding has a tile of its own


def multiplied(products: float, lanes: int) -> float:
    """So many multiply-adds of float32."""
    return products / (lanes * _PER_CYCLE)


def streamed(size: float, spec: TargetSpec) -> float:
    """A constant of so many bytes, read once each time; nothing where it can stay in the cache."""
    return size / _BYTES_PER_CYCLE if size > spec.l2_bytes / 2 else 0.0


def spilled(size: float, spec: TargetSpec) -> float:
    """Values of so many bytes, written and read again: what of them the cache cannot hold goes out and comes back."""
    return 2 * max(0.0, size - spec.l2_bytes) / _BYTES_PER_CYCLE


def direct(conv: Convolution, spec: TargetSpec, *, edges: bool) -> float:
    """The definition; with `edges`, pixels whose windows leave the image at the left and right are done one by one."""
    width = conv.width
    reach = (width.outputs - 1) * width.stride + (width.taps - 1) * width.dilation + 1
    outside = -(-width.before // width.stride) + -(-max(0, reach - width.before - width.size) // width.stride)
    more = 1 + _EDGE * min(outside, width.outputs) / width.outputs if edges else 1.0
    return max(multiplied(conv.products, spec.lanes(FLOAT32)) * more, streamed(conv.weights.nbytes, spec))
