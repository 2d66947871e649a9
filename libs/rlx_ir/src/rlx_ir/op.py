"""The base of every op: one frozen dataclass that holds an op's meaning, its checks and its oracle side by side.

The fields of the dataclass are the op's attributes. A subclass gives `infer` (result types, and every check of its
operands: a wrong one raises `VerifyError`), `expression` (what every target computes) and `reference` (NumPy: what
the interpreter and the tests believe). Adding an op is one class in `rlx_ir/ops/`, marked with `@register`.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from rlx_base.dtypes import DTYPES, STRING, DType
from rlx_base.errors import VerifyError
from rlx_base.span import Span
from rlx_ir.expr import Tensor
from rlx_ir.types import TensorType

__all__ = [
    "OPS",
    "Array",
    "HostOp",
    "Op",
    "attributes_of",
    "make",
    "nearest",
    "operation",
    "register",
    "runs_on_host",
]

Array = NDArray[Any]
T = TypeVar("T", bound="Op")

OPS: Final[dict[str, type[Op]]] = {}


class Op:
    """An operation without its operands.

    `name` is what the text calls it (`rlx.name`), `version` grows when its meaning changes. `operands` are the
    operands' names in order: `"bias?"` may be absent (None), `"inputs*"` (last, alone) takes any number. `results`
    names what it gives. `attributes` (the dataclass fields) are kept in declaration order.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    operands: ClassVar[tuple[str, ...]]
    results: ClassVar[tuple[str, ...]] = ("output",)

    # A distributed scheduler may cut a splittable op along its axes; an atomic one runs whole.
    splittable: ClassVar[bool] = True

    def iteration_axes(self, *operands: TensorType | None) -> tuple[str, ...]:
        """The names of the iteration axes, outermost first: what a `compute_schedule` may use.

        By default those of the expression: its results' axes, then the reduced ones.
        """
        from rlx_ir.expr import Reduce, stages, walk

        names: dict[str, None] = {}
        defined = stages(self.expression(*map(operand_tensor, _operand_names(self, len(operands)), operands)))
        for tensor in reversed(defined):
            names |= dict.fromkeys(axis.name for axis in tensor.axes)
        for tensor in reversed(defined):
            if tensor.body is not None:
                for part in walk(tensor.body):
                    if isinstance(part, Reduce):
                        names |= dict.fromkeys(axis.name for axis in part.axes)
        return tuple(names)

    # Declared with Any, which type checkers take as "any signature", so that an op can name its operands.
    def infer(self, *operands: Any, **_: Any) -> tuple[TensorType, ...]:
        """The result types. Raises VerifyError (E110 …) where the operands do not fit."""
        raise NotImplementedError

    def bind(self, dims: Mapping[str, int]) -> Op:
        """The op with the names of symbolic dimensions in its attributes replaced, where they are known."""
        return self

    def expression(self, *operands: Any, **_: Any) -> tuple[Tensor, ...]:
        """The results, defined in index notation; shapes may be symbolic."""
        raise NotImplementedError

    def reference(self, *operands: Any, **_: Any) -> tuple[Array, ...]:
        """The results by NumPy, slow and plainly right."""
        raise NotImplementedError


class HostOp(Op):
    """An op that no kernel computes: on text, or by a library. Its `reference` runs between two native calls."""

    splittable: ClassVar[bool] = False

    def iteration_axes(self, *operands: TensorType | None) -> tuple[str, ...]:
        return ()


def runs_on_host(op: Op, types: Iterable[TensorType | None]) -> bool:
    """Whether the host computes it: an op of its own, or any op that meets texts among its operands and results."""
    return isinstance(op, HostOp) or any(type is not None and type.dtype == STRING for type in types)


def register(op: type[T]) -> type[T]:
    """Make an op known to the text and the printer."""
    if op.name in OPS:
        raise ValueError(f"two ops are called {op.name}")
    OPS[op.name] = op
    return op


def operand_tensor(name: str, type: TensorType | None) -> Tensor | None:
    """An operand as an expression reads it."""
    return None if type is None else Tensor(name, type.shape, type.dtype)


def _operand_names(op: Op, count: int) -> Sequence[str]:
    declared = [name.rstrip("?") for name in op.operands]
    if declared and declared[-1].endswith("*"):
        stem = declared.pop()[:-1]
        declared += [f"{stem}{i}" for i in range(count - len(declared))]
    return declared[:count]


def operand_names(op: Op, count: int) -> Sequence[str]:
    """The names of `count` operands of this op; a variadic `inputs*` gives inputs0, inputs1, …"""
    return _operand_names(op, count)


def expression_of(op: Op, operands: Sequence[TensorType | None]) -> tuple[Tensor, ...]:
    """The op's expression over operands of these types; they are read under their declared names."""
    return op.expression(*map(operand_tensor, _operand_names(op, len(operands)), operands))


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint for a misspelt name: `; did you mean 'relu'?`, or nothing."""
    found = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {found[0]!r}?" if found else ""


def operation(name: str, at: Span | None = None) -> type[Op]:
    """The op of this name. Raises E101, with the nearest known name, where there is none."""
    import rlx_ir.ops  # noqa: F401  registers all ops; imported late, since every op imports this module

    if name not in OPS:
        raise VerifyError("E101", at=at, name=name, hint=nearest(name, OPS))
    return OPS[name]


def attributes_of(op: Op) -> dict[str, Any]:
    """The op's attributes by name, in declaration order."""
    return {field.name: getattr(op, field.name) for field in dataclasses.fields(op)}  # type: ignore[arg-type]


def make(kind: type[Op], attributes: Mapping[str, Any], at: Span | None = None) -> Op:
    """An op from plain values (numbers, texts, lists).

    Raises E102 for an unknown attribute, E103 for one of a wrong kind, E104 for one that is missing.
    """
    fields = {field.name: field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    hints = _hints(kind)  # type: ignore[arg-type]  # a class is hashable, whatever its instances are
    values: dict[str, Any] = {}
    for name, value in attributes.items():
        if name not in fields:
            raise VerifyError("E102", at=at, op=kind.name, name=name, hint=nearest(name, fields))
        values[name] = _coerce(kind, name, value, hints[name], at)
    missing = [
        name
        for name, field in fields.items()
        if name not in values and field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    ]
    if missing:
        raise VerifyError("E104", at=at, op=kind.name, name=missing[0])
    return kind(**values)


@functools.cache
def _hints(kind: type[Op]) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _coerce(kind: type[Op], name: str, value: Any, hint: Any, at: Span | None) -> Any:
    """`value` as the field's type: int, float, bool, str, DType, tuple[X, ...], or X | None."""
    origin = typing.get_origin(hint)
    if origin in (types.UnionType, typing.Union):
        choices = typing.get_args(hint)
        if value is None and type(None) in choices:
            return None
        for choice in choices:
            if choice is not type(None):
                try:
                    return _coerce(kind, name, value, choice, at)
                except VerifyError:
                    continue
    elif origin is tuple and isinstance(value, list | tuple):
        element = typing.get_args(hint)[0]
        return tuple(_coerce(kind, name, item, element, at) for item in value)
    elif origin is typing.Literal and value in typing.get_args(hint):
        return value
    elif hint is DType and isinstance(value, str | DType) and str(value) in DTYPES:
        return DTYPES[str(value)]
    elif hint is float and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    elif (hint is bool and value in (0, 1)) or (
        hint is bool and type(value) is int and value in (0, 1)
    ):  # ONNX writes truth values as 0 and 1
        return bool(value)
    elif isinstance(hint, type) and type(value) is hint:
        return value
    raise VerifyError("E103", at=at, op=kind.name, name=name, value=value, expected=_describe(hint))


def _describe(hint: Any) -> str:
    if typing.get_origin(hint) is tuple:
        return f"a list of {_describe(typing.get_args(hint)[0])}"
    if typing.get_origin(hint) is typing.Literal:
        return "one of " + ", ".join(repr(choice) for choice in typing.get_args(hint))
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        return " or ".join(_describe(choice) for choice in typing.get_args(hint))
    names = {int: "int", float: "number", str: "text", bool: "True or False", DType: "a dtype", type(None): "None"}
    return names.get(hint, str(hint))


def as_arrays(results: Iterable[Any]) -> tuple[Array, ...]:
    """NumPy scalars as arrays of rank 0."""
    return tuple(np.asarray(result) for result in results)
