"""Gradient: derivatives of a value by others, by the chain rule over the nodes between them.

Source: ONNX ai.onnx.preview.training Gradient-1. An op has a rule here, or a gradient through it is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from rlx_compiler.onnx.operators.arithmetic import Numbers
from rlx_compiler.onnx.operators.movement import whole
from rlx_compiler.onnx.registry import operator
from rlx_compiler.onnx.translation import Call, Unsupported, Value
from rlx_ir.module import Node
from rlx_ir.ops.reduction import ReduceSum
from rlx_ir.ops.reshape import Reshape

__all__: list[str] = []

# From what the result's derivative is, the operands, and the result, to the derivative by each operand.
Rule = Callable[[Numbers, Value, Sequence[Value], Value], Sequence[Value]]

_RULES: Final[dict[str, Rule]] = {
    "identity": lambda n, g, x, y: (g,),
    "add": lambda n, g, x, y: (g, g),
    "sub": lambda n, g, x, y: (g, n.sub(0, g)),
    "mul": lambda n, g, x, y: (n.mul(g, x[1]), n.mul(g, x[0])),
    "div": lambda n, g, x, y: (n.div(g, x[1]), n.sub(0, n.div(n.mul(g, y), x[1]))),
    "neg": lambda n, g, x, y: (n.sub(0, g),),
    "exp": lambda n, g, x, y: (n.mul(g, y),),
    "log": lambda n, g, x, y: (n.div(g, x[0]),),
    "sqrt": lambda n, g, x, y: (n.div(g, n.mul(2, y)),),
    "tanh": lambda n, g, x, y: (n.mul(g, n.sub(1, n.mul(y, y))),),
    "sigmoid": lambda n, g, x, y: (n.mul(g, n.mul(y, n.sub(1, y))),),
    "relu": lambda n, g, x, y: (n.where(n.less(0, x[0]), g, 0),),
}


@operator("Gradient", domain="ai.onnx.preview.training")
def gradient(call: Call) -> list[Value]:
    """dy/dx for each x; zero where y does not depend on it."""
    target = call.scope[call.attribute("y")]
    names = call.attribute("xs")
    by = [call.scope[name.decode() if isinstance(name, bytes) else name] for name in names]
    if target is None or any(value is None for value in by):
        raise Unsupported("what it derives could not be imported")
    wanted = [call.translation.operand(value) for value in by if value is not None]
    n = Numbers(call, target.type.dtype)
    end = call.translation.operand(target)
    found: dict[str, Value] = {end: n.of(np.ones([whole(target, place) for place in range(target.rank)]))}
    for node in reversed(_between(call.translation.builder.nodes, end, wanted)):
        through = found.get(node.name)
        if through is None:
            continue
        if node.op.name not in _RULES:
            raise Unsupported(f"there is no rule for the derivative of {node.op.name}")
        operands = [Value(call.translation.builder.tensor(name), name) for name in node.operands if name is not None]
        result = Value(node.results[0].tensor, node.name)
        for operand, part in zip(operands, _RULES[node.op.name](n, through, operands, result), strict=True):
            assert operand.name is not None
            own = _summed_to(call, part, operand)
            known = found.get(operand.name)
            found[operand.name] = own if known is None else n.add(known, own)
    return [
        found[name] if name in found else n.of(np.zeros([whole(value, place) for place in range(value.rank)]))
        for name, value in zip(wanted, by, strict=True)
        if value is not None
    ]


def _between(nodes: Sequence[Node], end: str, starts: Sequence[str]) -> list[Node]:
    """The nodes on the ways from the starts to the end, in order."""
    reached = set(starts)
    forward = []
    for node in nodes:
        if reached & set(node.operands) and node.name not in starts:
            reached |= {result.name for result in node.results}
            forward.append(node)
    needed = {end}
    kept = []
    for node in reversed(forward):
        if needed & {result.name for result in node.results}:
            needed |= {name for name in node.operands if name is not None}
            kept.append(node)
    return kept[::-1]


def _summed_to(call: Call, part: Value, operand: Value) -> Value:
    """A derivative in the operand's shape: what broadcasting has repeated adds up."""
    own, shape = operand.type.shape, part.type.shape
    missing = len(shape) - len(own)
    axes = tuple(i for i, size in enumerate(shape) if i < missing or (own[i - missing] == 1 and size != 1))
    if not axes:
        return part
    summed = call.apply(ReduceSum(axes, True), part)
    return call.apply(Reshape(tuple(whole(operand, place) for place in range(operand.rank)), True), summed)
