"""Which nodes become one kernel, and on what grounds.

Three ideas, in order: `groups` computes an elementwise op where its operand is, in registers; `moves` lets a reader
read through a transpose or a slice; `blocks` computes ops that share rows block by block, so that what stands between
them never leaves the caches (a softmax, a layer norm, an attention).
"""

from __future__ import annotations

from rlx_compiler.fusion.blocks import share_blocks
from rlx_compiler.fusion.groups import FusionChoice, Group, groups_of
from rlx_compiler.fusion.moves import read_through
from rlx_compiler.targets.spec import TargetSpec
from rlx_ir.module import Module

__all__ = ["FusionChoice", "Group", "fuse", "groups_of"]


def fuse(module: Module, spec: TargetSpec) -> list[Group]:
    """The module's nodes as groups, each after those whose values it reads."""
    groups = groups_of(module, spec, fuse=True)
    return share_blocks(module, spec, read_through(module, groups))
