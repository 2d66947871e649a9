"""SelectBranches: a condition becomes both of its branches and a choice between their results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rlx_ir.module import Node
from rlx_ir.ops.control import Cond
from rlx_ir.ops.copying import Where
from rlx_ir.ops.reshape import Reshape
from rlx_ir.passes.base import Rewrite, Rewriting
from rlx_ir.passes.inline_calls import inline

__all__ = ["SelectBranches"]


@dataclass(frozen=True)
class SelectBranches(Rewrite):
    """cond(c, then, else, …) becomes where(c, then(…), else(…)): no target needs jumps between kernels.

    Holds always: modules are pure, and nothing in them traps. It costs the time of both branches.
    """

    name = "select-branches"
    kinds = (Cond,)

    def rewrite(self, node: Node, graph: Rewriting) -> Sequence[str] | None:
        condition, *arguments = (name for name in node.operands if name is not None)
        if graph.type(condition).rank:
            (condition,) = graph.add(Reshape(()), condition, stem=f"{node.name}_condition")
        then, otherwise = (
            inline(region, arguments, f"{node.name}_{branch}", graph)
            for branch, region in zip(("then", "else"), node.regions, strict=True)
        )
        chosen: list[str] = []
        for result, yes, no in zip(node.results, then, otherwise, strict=True):
            single = Node(node.op, node.operands, (result,), node.schedule, span=node.span)
            chosen += graph.add(Where(), condition, yes, no, like=single)
        return chosen
