"""InlineCalls: a call becomes the called module's nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rlx_ir.module import Module, Node
from rlx_ir.ops.control import Call
from rlx_ir.ops.copying import Identity
from rlx_ir.passes.base import Rewrite, Rewriting

__all__ = ["InlineCalls", "inline"]


@dataclass(frozen=True)
class InlineCalls(Rewrite):
    """call(module, arguments) becomes the nodes of the module, named after the call.

    Holds always: modules are pure and do not call themselves.
    """

    name = "inline-calls"
    kinds = (Call,)

    def rewrite(self, node: Node, graph: Rewriting) -> Sequence[str] | None:
        arguments = [name for name in node.operands if name is not None]
        return inline(node.regions[0], arguments, node.name, graph)


def inline(module: Module, arguments: Sequence[str], prefix: str, graph: Rewriting) -> list[str]:
    """Add a module's nodes for these arguments, their names after `prefix`; gives the names of its outputs.

    An argument in another layout than the module declares is stored anew, since tiles are written for the declared one.
    """
    names: dict[str, str] = {}
    for value, argument in zip(module.inputs, arguments, strict=True):
        names[value.name] = argument
        if graph.type(argument).layout != value.tensor.layout:
            stored = replace(value, name=graph.fresh(f"{prefix}_{value.name}"))
            (names[value.name],) = graph.append(Node(Identity(), (argument,), (stored,)))
    for constant in module.constants:
        names[constant.name] = graph.adopt(replace(constant, name=graph.fresh(f"{prefix}_{constant.name}")))
    for node in module.nodes:
        operands = tuple(None if name is None else names[name] for name in node.operands)
        results = tuple(replace(result, name=graph.fresh(f"{prefix}_{result.name}")) for result in node.results)
        graph.append(replace(node, operands=operands, results=results))
        names |= {old.name: new.name for old, new in zip(node.results, results, strict=True)}
    return [names[output.value] for output in module.outputs]
