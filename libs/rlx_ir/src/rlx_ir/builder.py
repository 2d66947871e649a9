"""Building a module step by step: the parser, passes, importers and tests all come through here.

The builder infers and checks each node as it is added, so a module it gives always verifies.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlx_base.errors import RlxError, VerifyError
from rlx_base.span import Span
from rlx_ir.module import Constant, Module, Node, Output, Value, constant_of
from rlx_ir.op import Op
from rlx_ir.schedule import NO_SCHEDULE, Schedule
from rlx_ir.types import TensorType, Type

__all__ = ["ModuleBuilder"]


class ModuleBuilder:
    """Collects a module's parts; `build` gives the module. Names are given, or made from the op's name and a number.

    `reserved` names are never made: a text assigns them further down.
    """

    def __init__(self, name: str, reserved: Collection[str] = ()) -> None:
        self.name = name
        self._reserved = reserved
        self._made: dict[str, int] = {}
        self._inputs: list[Value] = []
        self._constants: list[Constant] = []
        self._nodes: list[Node] = []
        self._outputs: list[Output] = []
        self._types: dict[str, Type] = {}
        self._spans: dict[str, Span | None] = {}

    def type_of(self, name: str) -> Type:
        return self._types[name]

    @property
    def nodes(self) -> Sequence[Node]:
        """The nodes that are added so far."""
        return self._nodes

    def tensor(self, name: str) -> TensorType:
        """The type of a value that is a tensor. Raises E107 for another."""
        return self._tensor(name, None)

    @property
    def input_names(self) -> Collection[str]:
        """The inputs that are declared so far."""
        return {value.name for value in self._inputs}

    def __contains__(self, name: str) -> bool:
        return name in self._types

    def fresh(self, stem: str) -> str:
        """`stem`, or `stem_1`, `stem_2`, … where it is taken."""
        count = self._made.get(stem, 0)
        name = stem if count == 0 else f"{stem}_{count}"
        while name in self._types or name in self._reserved:
            count += 1
            name = f"{stem}_{count}"
        self._made[stem] = count
        return name

    def _define(self, name: str, type: Type, span: Span | None) -> None:
        if name in self._types:
            first = self._spans[name]
            raise VerifyError("E105", at=span, name=name, line=first.line if first else "?")
        self._types[name] = type
        self._spans[name] = span

    def input(self, name: str, type: Type, span: Span | None = None) -> str:
        """Declare an input and give its name back."""
        self._define(name, type, span)
        self._inputs.append(Value(name, type, span))
        return name

    def constant(self, constant: Constant) -> str:
        """Add a constant and give its name back."""
        self._define(constant.name, constant.type, constant.span)
        self._constants.append(constant)
        return constant.name

    def array(self, name: str, elements: NDArray[Any] | np.generic) -> str:
        """Add a constant with these elements."""
        return self.constant(constant_of(name, np.asarray(elements)))

    def add(
        self,
        op: Op,
        *operands: str | None,
        names: Sequence[str] | str | None = None,
        schedule: Schedule = NO_SCHEDULE,
        regions: tuple[Module, ...] = (),
        span: Span | None = None,
        type: TensorType | None = None,
    ) -> str:
        """Add a node and give the name of its (first) result. Raises VerifyError, with `span`, where the op does not
        take the operands.

        `type` replaces the inferred layout and affinity of the (only) result where the text declares them.
        """
        node = self.node(op, *operands, names=names, schedule=schedule, regions=regions, span=span, type=type)
        return node.name

    def node(
        self,
        op: Op,
        *operands: str | None,
        names: Sequence[str] | str | None = None,
        schedule: Schedule = NO_SCHEDULE,
        regions: tuple[Module, ...] = (),
        span: Span | None = None,
        type: TensorType | None = None,
    ) -> Node:
        """As `add`, and give the whole node: for an op with several results."""
        if len(operands) < len(op.operands) and not any(name.endswith("*") for name in op.operands):
            operands += (None,) * (len(op.operands) - len(operands))  # an absent optional operand is None, everywhere
        types = [None if name is None else self._tensor(name, span) for name in operands]
        try:
            inferred = infer(op, types, regions)
        except RlxError as error:
            error.at = error.at or span
            raise
        if isinstance(names, str):
            names = [names]
        elif names is None:
            stem = self.fresh(op.name)
            names = [stem] if len(inferred) == 1 else [self.fresh(f"{stem}_{i}") for i in range(len(inferred))]
        if len(names) != len(inferred):
            raise VerifyError("E106", at=span, op=op.name, results=len(inferred), names=len(names))
        if type is not None:
            inferred = (type,)
        for name, result in zip(names, inferred, strict=True):
            self._define(name, result, span)
        values = tuple(Value(name, result, span) for name, result in zip(names, inferred, strict=True))
        node = Node(op, operands, values, schedule, regions, span)
        self._nodes.append(node)
        return node

    def _tensor(self, name: str, span: Span | None) -> TensorType:
        type = self._types[name]
        if not isinstance(type, TensorType):
            raise VerifyError("E107", at=span, name=name, type=type)
        return type

    def output(self, name: str, value: str) -> None:
        """Return `value` under the name `name`."""
        if any(output.name == name for output in self._outputs):
            raise VerifyError("E108", name=name)
        self._outputs.append(Output(name, value))

    def build(self, span: Span | None = None) -> Module:
        """The module."""
        return Module(
            self.name,
            tuple(self._inputs),
            tuple(self._constants),
            tuple(self._nodes),
            tuple(self._outputs),
            span,
        )


def infer(op: Op, operands: Sequence[TensorType | None], regions: tuple[Module, ...]) -> tuple[TensorType, ...]:
    """The result types of an op over operands of these types; an op with regions asks them. Raises VerifyError."""
    from rlx_ir.regions import RegionOp

    if isinstance(op, RegionOp):
        return op.infer_regions(regions, operands)
    return op.infer(*operands)
