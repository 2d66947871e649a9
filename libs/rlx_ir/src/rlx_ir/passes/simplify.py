"""Simplify: algebraic clean-up that keeps every value to the bit, NaN, −0 and ±∞ included."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rlx_ir.dims import is_static
from rlx_ir.module import Node
from rlx_ir.op import Op
from rlx_ir.ops.activation import Clip, Relu
from rlx_ir.ops.arithmetic import Abs, Add, Div, Max, Min, Mul, Neg, Pow, Sub
from rlx_ir.ops.comparison import BitwiseNot, LogicalNot
from rlx_ir.ops.copying import Cast, Identity
from rlx_ir.ops.functions import Ceil, Floor, Round
from rlx_ir.ops.padding import Pad
from rlx_ir.ops.permutation import Concat, Slice, Split, Transpose
from rlx_ir.ops.reshape import Expand, Flatten, Reshape, Squeeze, Unsqueeze
from rlx_ir.passes.base import Rewrite, Rewriting

__all__ = ["Simplify"]

_TWICE_IS_NONE = (Neg, LogicalNot, BitwiseNot)
_TWICE_IS_ONCE = (Abs, Relu, Floor, Ceil, Round)
_SAME_ELEMENTS = (Reshape, Flatten, Squeeze, Unsqueeze)


@dataclass(frozen=True)
class Simplify(Rewrite):
    """Nodes that give their operand back disappear; pairs of movements become one.

    x·1, x÷1, x−0, xᵃ with a = 1, and x + 0 (of floats: x + −0, since −0 + 0 is 0); identity; a cast, reshape, expand,
    slice, pad, transpose or clip that changes nothing; min, max or concat of one operand; −−x, ¬¬x; ⌊⌊x⌋⌋; transpose
    of transpose, reshape of reshape. Holds where the shape stays and no other layout or affinity was declared.
    """

    name = "simplify"

    def rewrite(self, node: Node, graph: Rewriting) -> Sequence[str] | None:
        if len(node.results) != 1 or not node.operands or node.operands[0] is None:
            return None
        for operand in self._equals(node, graph):
            if _may_stand_for(operand, node, graph):
                return [operand]
        return self._joined(node, graph)

    def _equals(self, node: Node, graph: Rewriting) -> list[str]:
        """Operands, or operands of theirs, that have the node's values."""
        op, result = node.op, node.results[0].tensor
        names = [name for name in node.operands if name is not None]
        first = names[0]
        same_type = graph.type(first).shape == result.shape and graph.type(first).dtype == result.dtype
        inner = graph.producer(first)
        match op:
            case Identity():
                return [first]
            case Cast() | Reshape() | Flatten() | Squeeze() | Unsqueeze() | Expand() if same_type:
                return [first]
            case Min() | Max() | Concat() | Split() if len(names) == 1 and same_type:
                return [first]
            case Clip(None, None):
                return [first]
            case Pad() if not any(op.pads):
                return [first]
            case Slice() if same_type and is_static(result.shape) and not any(step < 0 for step in op.steps or ()):
                return [first]
            case Transpose() if op.order(result.rank) == tuple(range(result.rank)):
                return [first]
            case Add() | Mul() | Sub() | Div() | Pow():
                return _neutral(node, graph)
            case _ if inner is not None and type(op) is type(inner.op):
                if isinstance(op, _TWICE_IS_NONE) and inner.operands[0] is not None:
                    return [inner.operands[0]]
                if isinstance(op, _TWICE_IS_ONCE):
                    return [first]
        return []

    def _joined(self, node: Node, graph: Rewriting) -> Sequence[str] | None:
        """Two movements as one, which may then be none."""
        inner = graph.producer(node.operands[0])
        if inner is None or not inner.operands:
            return None
        shape = node.results[0].tensor.shape
        joined: Op | None = None
        if isinstance(node.op, Transpose) and isinstance(inner.op, Transpose):
            outer, first = node.op.order(len(shape)), inner.op.order(len(shape))
            joined = Transpose(tuple(first[place] for place in outer))
        elif isinstance(node.op, _SAME_ELEMENTS) and isinstance(inner.op, _SAME_ELEMENTS):
            sizes = tuple(size for size in shape if isinstance(size, int))
            joined = Reshape(sizes, allow_zero=0 in sizes) if len(sizes) == len(shape) else None
        if joined is None:
            return None
        one = replace(node, op=joined, operands=inner.operands)
        return self.rewrite(one, graph) or graph.append(one)


def _neutral(node: Node, graph: Rewriting) -> list[str]:
    """The other operand, where one is constant and changes nothing."""
    a, b = node.operands
    assert a is not None
    assert b is not None
    found = []
    if _is_neutral(node, graph.array(b), right=True):
        found.append(a)
    if isinstance(node.op, Add | Mul) and _is_neutral(node, graph.array(a), right=False):
        found.append(b)
    return found


def _is_neutral(node: Node, elements: np.ndarray | None, right: bool) -> bool:
    if elements is None or elements.size == 0:
        return False
    if isinstance(node.op, Mul | Div | Pow):
        return bool((elements == 1).all())
    if not (elements == 0).all():
        return False
    if elements.dtype.kind != "f":
        return True
    negative = np.signbit(elements)
    return bool((~negative).all() if isinstance(node.op, Sub) else negative.all())


def _may_stand_for(operand: str, node: Node, graph: Rewriting) -> bool:
    """Whether uses of the node may read the operand: of the same shape, dtype and layout, and declared nowhere else."""
    given, result = graph.type(operand), node.results[0].tensor
    return (
        given.shape == result.shape
        and given.dtype == result.dtype
        and given.layout == result.layout
        and result.affinity in (None, given.affinity)
    )
