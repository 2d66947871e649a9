"""From a scheduled nest to what emitters take: unrolled loops written out, addresses linear and hoisted."""

from __future__ import annotations

from rlx_compiler.loops.address import linear_addresses
from rlx_compiler.loops.expand import expand
from rlx_compiler.loops.ir import Kernel

__all__ = ["prepare"]


def prepare(kernel: Kernel) -> Kernel:
    """The same function in the form that the docstring of `loops.ir` promises emitters."""
    return linear_addresses(expand(kernel))
