"""Generated cases of every op, for the tests of every package.

`cases("conv2d")` is a Hypothesis strategy of `Case`s: an op with attributes, and operands that fit it, of sizes 0, 1
and odd ones, broadcasting, with NaN and ±∞ where the op promises something about them. Needs `hypothesis`, which RLX
itself does not.
"""

from rlx_ir.testing import elementwise, indexing, movement, places, reductions, tensors, windows
from rlx_ir.testing.case import Case, cases, covered_ops

__all__ = [
    "Case",
    "cases",
    "covered_ops",
    "elementwise",
    "indexing",
    "movement",
    "places",
    "reductions",
    "tensors",
    "windows",
]
