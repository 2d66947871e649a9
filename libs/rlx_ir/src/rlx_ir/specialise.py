"""The symbolic dimensions of a module, and the module with them replaced by numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rlx_base.errors import RlxError
from rlx_ir.builder import infer
from rlx_ir.dims import symbols
from rlx_ir.module import Module, Node, Value
from rlx_ir.types import TensorType

__all__ = ["open_dims", "specialise"]


def open_dims(module: Module) -> set[str]:
    """The names of the dimensions that still need a value before the module can be compiled."""
    found: set[str] = set()
    for part in module.modules():
        for value in (*part.inputs, *(result for node in part.nodes for result in node.results)):
            if isinstance(value.type, TensorType):
                for dim in value.type.shape:
                    found |= symbols(dim)
    return found


def specialise(module: Module, dims: Mapping[str, int]) -> Module:
    """The module for these values of some of its dimensions; all types are inferred anew, layouts and affinities kept.

    Raises VerifyError where an op does not take the operands that follow.
    """
    inputs = tuple(replace(value, type=value.tensor.bind(dims)) for value in module.inputs)
    types: dict[str, TensorType] = {value.name: value.tensor for value in inputs}
    types |= {constant.name: constant.type for constant in module.constants}
    nodes: list[Node] = []
    for node in module.nodes:
        op = node.op.bind(dims)
        regions = tuple(specialise(region, dims) for region in node.regions)
        operands = [None if name is None else types[name] for name in node.operands]
        try:
            inferred = infer(op, operands, regions)
        except RlxError as error:
            error.at = error.at or node.span
            raise
        results = tuple(
            Value(result.name, replace(type, layout=result.tensor.layout, affinity=result.tensor.affinity), result.span)
            for result, type in zip(node.results, inferred, strict=True)
        )
        types |= {result.name: result.tensor for result in results}
        nodes.append(replace(node, op=op, results=results, regions=regions))
    return replace(module, inputs=inputs, nodes=tuple(nodes))
