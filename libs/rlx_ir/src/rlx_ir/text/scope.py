"""What reading an expression needs of the module around it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Protocol

from rlx_base.dtypes import DType
from rlx_ir.builder import ModuleBuilder
from rlx_ir.constants import expression as trees
from rlx_ir.module import Constant, Module, Node
from rlx_ir.op import Op
from rlx_ir.schedule import NO_SCHEDULE, Schedule
from rlx_ir.text.constants import ConstantReader
from rlx_ir.text.source import Source
from rlx_ir.text.types import check_size
from rlx_ir.types import TensorType

__all__ = ["Names", "Scope", "add_node", "add_number", "is_number", "literal_operand"]

Names = Sequence[str] | None


class Scope(Protocol):
    """The module being read. `names` are those that an assignment gives; None: names are made."""

    source: Source
    builder: ModuleBuilder
    constants: ConstantReader

    def evaluate(self, node: ast.expr, names: Names = None) -> tuple[str, ...]:
        """The values that an expression gives, added to the module."""
        ...

    def value(self, node: ast.expr, names: Names = None) -> str:
        """The one value that an expression gives. Raises E106 where it gives several."""
        ...

    def module(self, node: ast.expr) -> Module:
        """The module of this file that a name stands for. Raises E021."""
        ...

    def is_module(self, name: str) -> bool: ...


def add_node(
    scope: Scope,
    at: ast.AST,
    op: Op,
    *operands: str | None,
    names: Names = None,
    schedule: Schedule = NO_SCHEDULE,
    regions: tuple[Module, ...] = (),
    type: TensorType | None = None,
) -> Node:
    """Add a node whose errors point at `at`."""
    span = scope.source.span(at)
    node = scope.builder.node(op, *operands, names=names, schedule=schedule, regions=regions, span=span, type=type)
    for result in node.results:
        if isinstance(result.type, TensorType):
            check_size(scope.source, at, result.type.shape)
    return node


def is_number(node: ast.expr) -> bool:
    """Whether a node is a number as written."""
    match node:
        case ast.Constant(value=bool() | int() | float()):
            return True
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
            return is_number(operand)
        case _:
            return False


def literal_operand(node: ast.expr) -> bool:
    """Whether an operand is written out: a number or nested lists of numbers."""
    if isinstance(node, ast.List | ast.Tuple):
        return all(map(literal_operand, node.elts))
    return is_number(node)


def add_number(scope: Scope, node: ast.expr, dtype: DType | None) -> str:
    """A constant for a number or list used as an operand: it takes the dtype of what it meets."""
    source = scope.source

    def build() -> trees.Elements:
        if dtype is not None and dtype.is_integer and any(type(n) is float for n in _numbers(node)):
            raise ValueError(f"a fraction meets {dtype}; convert the tensor with .astype first")
        return trees.elements(_nested(source, node), None if dtype is None else dtype.name)

    elements: trees.Elements = scope.constants.guard(node, build)
    name = scope.builder.fresh("constant")
    type_ = TensorType(elements.static.shape, elements.static.dtype)
    return scope.builder.constant(Constant(name, type_, elements.data, source.span(node)))


def _numbers(node: ast.expr) -> list[object]:
    return [part.value for part in ast.walk(node) if isinstance(part, ast.Constant)]


def _nested(source: Source, node: ast.expr) -> object:
    if isinstance(node, ast.List | ast.Tuple):
        return [_nested(source, item) for item in node.elts]
    return source.number(node, "an element")
