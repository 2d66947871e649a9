"""Tensor types as a text declares them: shape, dtype, layout and memory affinity."""

from __future__ import annotations

import ast
import keyword
import re
from typing import Any, Final

from rlx_base.dtypes import DTYPES
from rlx_ir.affinity import MemoryAffinity
from rlx_ir.dims import Dim, Shape, Symbol
from rlx_ir.layout import Layout
from rlx_ir.text.arguments import Arguments, bind
from rlx_ir.text.source import Source
from rlx_ir.types import TensorType

__all__ = ["STORAGE", "check_size", "read_affinity", "read_layout", "read_type", "too_large"]

# How a tensor is kept: arguments that may follow any declaration, and any op with one result.
STORAGE: Final = ("layout", "memory_affinity", "location")

MAX_DIMENSION: Final = 1 << 40
MAX_ELEMENTS: Final = 1 << 48
MAX_RANK: Final = 16

_SYMBOL: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")


def read_type(source: Source, call: ast.Call, what: str) -> TensorType:
    """The type that `rlx.tensor(shape=…, dtype=…)` or `rlx.scalar(dtype=…)` declares."""
    scalar = what == "rlx.scalar"
    required = ("dtype",) if scalar else ("shape", "dtype")
    given = bind(source, call, what, (*required, *STORAGE), required)
    shape = () if scalar else read_shape(source, given["shape"])
    type = TensorType(shape, DTYPES[source.dtype(given["dtype"])])
    return TensorType(shape, type.dtype, read_layout(source, given, len(shape)), read_affinity(source, given))


def read_shape(source: Source, node: ast.expr) -> Shape:
    """A list of whole numbers and names."""
    shape: list[Dim] = []
    for item in source.items(node, "a shape"):
        value: Any = source.plain(item, "a dimension")
        if isinstance(value, str) and _SYMBOL.fullmatch(value) and not keyword.iskeyword(value):
            shape.append(Symbol(value))
        elif type(value) is int and value >= 0:
            shape.append(value)
        else:
            raise source.expected(item, "a dimension", "a whole number ≥ 0 or a name")
    check_size(source, node, tuple(shape))
    return tuple(shape)


def too_large(shape: Shape) -> bool:
    """Whether a tensor of this shape is beyond what addresses can count; unknown dimensions count as 1."""
    count = 1
    for dim in shape:
        if isinstance(dim, int):
            if dim > MAX_DIMENSION:
                return True
            count *= max(1, dim)
    return count > MAX_ELEMENTS or len(shape) > MAX_RANK


def check_size(source: Source, node: ast.AST, shape: Shape) -> None:
    if too_large(shape):
        shown = ", ".join(map(str, shape[:MAX_RANK])) + (", …" if len(shape) > MAX_RANK else "")
        raise source.error("E022", node, shape=f"({shown})")


def read_layout(source: Source, given: Arguments, rank: int) -> Layout | None:
    """`layout="NHWC"`; None where it is not given."""
    node = given.get("layout")
    if node is None or is_none(node):
        return None
    return Layout.parse(source.string(node, "layout"), rank, source.span(node))


def read_affinity(source: Source, given: Arguments) -> MemoryAffinity | None:
    """`memory_affinity={…}`, or its short form `location="HBM"`."""
    node, short = given.get("memory_affinity"), given.get("location")
    if short is not None:
        if node is not None:
            raise source.error(
                "E018", short, what="location", expected="part of memory_affinity", found="given beside it"
            )
        return MemoryAffinity.of({"location": source.string(short, "location")}, source.span(short))
    if node is None or is_none(node):
        return None
    fields: dict[str, object] = {}
    place = node
    for name, key, value in source.entries(node, "memory_affinity"):
        fields[name] = source.plain(value, name)
        place = key
        if name != "location":  # each field alone is checked where it stands
            MemoryAffinity.of({"location": "DDR", name: fields[name]}, source.span(value if name in _FIELDS else key))
    return MemoryAffinity.of(fields, source.span(place if len(fields) == 1 else node))


_FIELDS: Final = ("location", "bandwidth", "latency", "coherence")


def is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
