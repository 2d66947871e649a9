"""From a scheduled nest to what emitters take: no unrolled loops, linear and hoisted addresses, short ones on a GPU."""

from __future__ import annotations

from rlx_compiler.loops.address import linear_addresses
from rlx_compiler.loops.expand import expand
from rlx_compiler.loops.ir import Kernel
from rlx_compiler.loops.narrow import narrow_indices

__all__ = ["prepare"]


def prepare(kernel: Kernel) -> Kernel:
    """The same function in the form that the docstring of `loops.ir` promises emitters."""
    prepared = linear_addresses(expand(kernel))
    return prepared if kernel.grid is None else narrow_indices(prepared)
