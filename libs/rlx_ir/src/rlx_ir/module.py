"""The IR: a module is inputs, constants and nodes in single-assignment form, all immutable.

Values are known by name, so rewriting a module is replacing tuples. A node holds its op (attributes), the names
of its operands, its typed results, its schedule, its regions (modules that it runs: `call`, `cond`), and where in
the text it stands. Spans never take part in equality.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rlx_base.dtypes import of_numpy
from rlx_base.span import Span
from rlx_ir.op import Op
from rlx_ir.schedule import NO_SCHEDULE, Schedule
from rlx_ir.types import TensorType, Type

__all__ = ["Computed", "Constant", "ConstantData", "Module", "Node", "Output", "Value", "constant_of"]


@dataclass(frozen=True, slots=True)
class Value:
    """A name and its type."""

    name: str
    type: Type
    span: Span | None = field(default=None, compare=False)

    @property
    def tensor(self) -> TensorType:
        """The type, where only a tensor makes sense."""
        assert isinstance(self.type, TensorType), f"{self.name} is a {self.type}"
        return self.type


class ConstantData(Protocol):
    """Where a constant's elements come from. Equal data compare equal without loading anything."""

    def array(self) -> NDArray[np.generic]:
        """The elements in logical order, read-only; loaded or evaluated at the first call and kept."""
        ...


@dataclass(frozen=True, eq=False)
class Computed:
    """Elements that a pass or a program has computed."""

    elements: NDArray[np.generic]

    def array(self) -> NDArray[np.generic]:
        return self.elements

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Computed)
            and self.elements.dtype == other.elements.dtype
            and self.elements.shape == other.elements.shape
            and self.elements.tobytes() == other.elements.tobytes()
        )

    def __hash__(self) -> int:
        return hash((self.elements.dtype.str, self.elements.shape))


@dataclass(frozen=True, slots=True)
class Constant:
    """A named tensor whose elements are part of the program."""

    name: str
    type: TensorType
    data: ConstantData
    span: Span | None = field(default=None, compare=False)

    def array(self) -> NDArray[np.generic]:
        return self.data.array()


def constant_of(name: str, elements: NDArray[np.generic], span: Span | None = None) -> Constant:
    """A constant from an array, with the array's shape and dtype."""
    frozen = np.ascontiguousarray(elements).reshape(elements.shape)
    frozen.flags.writeable = False
    return Constant(name, TensorType(frozen.shape, of_numpy(frozen.dtype)), Computed(frozen), span)


@dataclass(frozen=True, slots=True)
class Node:
    """One application of an op. An absent optional operand is None."""

    op: Op
    operands: tuple[str | None, ...]
    results: tuple[Value, ...]
    schedule: Schedule = NO_SCHEDULE
    regions: tuple[Module, ...] = ()
    span: Span | None = field(default=None, compare=False)

    @property
    def name(self) -> str:
        """The name of the first result, which also names the node."""
        return self.results[0].name


@dataclass(frozen=True, slots=True)
class Output:
    """A result of the module: `name` is what every API calls it, `value` the value returned."""

    name: str
    value: str


Definition: TypeAlias = "Value | Constant | Node"


@dataclass(frozen=True)
class Module:
    """A program. Every name is defined once; nodes stand after what they use; spans are not compared."""

    name: str
    inputs: tuple[Value, ...]
    constants: tuple[Constant, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[Output, ...]
    span: Span | None = field(default=None, compare=False)

    @cached_property
    def types(self) -> Mapping[str, Type]:
        """The type of every value by name."""
        types: dict[str, Type] = {value.name: value.type for value in self.inputs}
        types |= {constant.name: constant.type for constant in self.constants}
        for node in self.nodes:
            types |= {result.name: result.type for result in node.results}
        return types

    @cached_property
    def constant(self) -> Mapping[str, Constant]:
        """Constants by name."""
        return {constant.name: constant for constant in self.constants}

    @cached_property
    def producer(self) -> Mapping[str, Node]:
        """The node that gives a value, by the value's name; inputs and constants are not in it."""
        return {result.name: node for node in self.nodes for result in node.results}

    @cached_property
    def uses(self) -> Mapping[str, int]:
        """How often each value is an operand or an output."""
        count = dict.fromkeys(self.types, 0)
        for node in self.nodes:
            for name in node.operands:
                if name is not None:
                    count[name] += 1
        for output in self.outputs:
            count[output.value] += 1
        return count

    def tensor(self, name: str) -> TensorType:
        """The type of a value that is a tensor."""
        type = self.types[name]
        assert isinstance(type, TensorType), f"{name} is a {type}"
        return type

    def operand_types(self, node: Node) -> tuple[TensorType | None, ...]:
        """The types of a node's operands; None for an absent one."""
        return tuple(None if name is None else self.tensor(name) for name in node.operands)

    def modules(self) -> Iterator[Module]:
        """This module and all modules in its regions, callees before callers, each name once."""
        seen: set[str] = set()

        def visit(module: Module) -> Iterator[Module]:
            if module.name in seen:  # not visited again: nested calls would make it exponential
                return
            seen.add(module.name)
            for node in module.nodes:
                for region in node.regions:
                    yield from visit(region)
            yield module

        yield from visit(self)

    def map_nodes(self, change: Callable[[Node], Node]) -> Module:
        """The module with every node replaced by what `change` gives for it."""
        return replace(self, nodes=tuple(map(change, self.nodes)))

    def renamed(self, names: Mapping[str, str]) -> Module:
        """The module with uses (operands and outputs) of some values replaced by others."""

        def new(name: str) -> str:
            return names.get(name, name)

        return replace(
            self,
            nodes=tuple(
                replace(n, operands=tuple(None if o is None else new(o) for o in n.operands)) for n in self.nodes
            ),
            outputs=tuple(replace(o, value=new(o.value)) for o in self.outputs),
        )

    def __str__(self) -> str:
        from rlx_ir.text import print_module

        return print_module(self)
