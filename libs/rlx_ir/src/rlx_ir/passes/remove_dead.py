"""RemoveDead: what no output needs is left out."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rlx_ir.module import Module
from rlx_ir.passes.base import Pass

__all__ = ["RemoveDead"]


@dataclass(frozen=True)
class RemoveDead(Pass):
    """A node whose results no output depends on, and an unused constant, disappear.

    Holds always, since ops are pure. Inputs stay: they are the module's interface.
    """

    name = "remove-dead"

    def transform(self, module: Module) -> Module:
        needed = {output.value for output in module.outputs}
        nodes = []
        for node in reversed(module.nodes):
            if any(result.name in needed for result in node.results):
                nodes.append(node)
                needed |= {name for name in node.operands if name is not None}
        constants = tuple(constant for constant in module.constants if constant.name in needed)
        return replace(module, constants=constants, nodes=tuple(reversed(nodes)))
