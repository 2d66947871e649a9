"""ShareCommon: what is computed twice is computed once (common-subexpression elimination)."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

from rlx_ir.module import Constant, Module, Node
from rlx_ir.passes.base import Pass

__all__ = ["ShareCommon"]


@dataclass(frozen=True)
class ShareCommon(Pass):
    """Equal ops of equal operands become one node, equal constants one constant; later uses mean the first.

    Holds where types, layouts, affinities, schedules and regions are equal too: what an author asked of one node is not
    given to another. Attributes are compared as they print, so that 0.0 and −0.0 differ and NaN equals itself.
    """

    name = "share-common"

    def transform(self, module: Module) -> Module:
        renamed: dict[str, str] = {}
        constants: dict[Hashable, Constant] = {}
        for constant in module.constants:
            first = constants.setdefault((constant.type, constant.data), constant)
            if first is not constant:
                renamed[constant.name] = first.name
        nodes: dict[Hashable, Node] = {}
        for old in module.nodes:
            operands = tuple(None if name is None else renamed.get(name, name) for name in old.operands)
            node = old if operands == old.operands else replace(old, operands=operands)
            kept = nodes.setdefault(_key(node), node)
            if kept is not node:
                renamed |= {b.name: a.name for a, b in zip(kept.results, node.results, strict=True)}
        return replace(module, constants=tuple(constants.values()), nodes=tuple(nodes.values())).renamed(renamed)


def _key(node: Node) -> Hashable:
    types = tuple(result.type for result in node.results)
    regions = tuple(id(region) for region in node.regions)
    return type(node.op), repr(node.op), node.operands, types, node.schedule, regions
