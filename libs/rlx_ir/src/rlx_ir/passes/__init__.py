"""Target-free passes, and the levels that are made of them.

A target's compiler adds its own passes behind these. Every pass keeps what a module computes: to the bit at levels 0
and 1, within rounding at level 2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from rlx_ir.module import Module
from rlx_ir.passes.base import Pass, Rewrite, Rewriting
from rlx_ir.passes.fold_batch_norm import FoldBatchNorm, FoldConvBias
from rlx_ir.passes.fold_constants import FoldConstants
from rlx_ir.passes.inline_calls import InlineCalls
from rlx_ir.passes.multiply_by_inverse import MultiplyByInverse
from rlx_ir.passes.remove_dead import RemoveDead
from rlx_ir.passes.select_branches import SelectBranches
from rlx_ir.passes.share_common import ShareCommon
from rlx_ir.passes.simplify import Simplify
from rlx_ir.passes.specialise import Specialise

__all__ = [
    "LEVELS",
    "FoldBatchNorm",
    "FoldConstants",
    "FoldConvBias",
    "InlineCalls",
    "MultiplyByInverse",
    "Pass",
    "RemoveDead",
    "Rewrite",
    "Rewriting",
    "SelectBranches",
    "ShareCommon",
    "Simplify",
    "Specialise",
    "apply_passes",
]

# Level 0 only makes one flat list of nodes of a module; each level contains the one before it.
_FLAT: Final[tuple[Pass, ...]] = (InlineCalls(), SelectBranches())
_CLEAN: Final[tuple[Pass, ...]] = (FoldConstants(), Simplify(), ShareCommon(), RemoveDead())
LEVELS: Final[Mapping[int, tuple[Pass, ...]]] = {
    0: _FLAT,
    1: (*_FLAT, *_CLEAN),
    2: (*_FLAT, *_CLEAN, FoldConvBias(), FoldBatchNorm(), MultiplyByInverse(), *_CLEAN),
}


def apply_passes(
    module: Module, passes: Iterable[Pass], after_each: Callable[[Pass, Module], None] | None = None
) -> Module:
    """The module after all passes in order; `after_each` sees what each has made, to verify or to print it."""
    for one in passes:
        module = one.apply(module)
        if after_each is not None:
            after_each(one, module)
    return module
