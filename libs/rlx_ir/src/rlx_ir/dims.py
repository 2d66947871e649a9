"""Dimensions of a shape: whole numbers, names that stand for one unknown each, and what follows from them.

`"N"` in a shape is one unknown for the whole module. An op that computes a new size from it (a convolution's
`(H + 2 − 3) // 2 + 1`) makes a `DimExpr`; a concrete shape at run time binds the names and turns all into ints.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = [
    "Dim",
    "DimExpr",
    "Shape",
    "Symbol",
    "add",
    "bind",
    "floor_div",
    "is_static",
    "mul",
    "sub",
    "symbols",
    "total",
]

Operator = Literal["+", "-", "*", "//"]


@dataclass(frozen=True, slots=True)
class Symbol:
    """A named unknown, ≥ 0."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class DimExpr:
    """An unknown computed from others; built by `add`, `sub`, `mul` and `floor_div` only, which fold what is known."""

    operator: Operator
    left: Dim
    right: Dim

    def __str__(self) -> str:
        return f"({self.left} {self.operator} {self.right})"


Dim: TypeAlias = int | Symbol | DimExpr
Shape: TypeAlias = tuple[Dim, ...]


def add(left: Dim, right: Dim) -> Dim:
    """left + right. Constants are kept on the right and merged, so that (N + 2) − 2 is N again."""
    if isinstance(left, int) and isinstance(right, int):
        return left + right
    if isinstance(left, int):
        left, right = right, left
    if isinstance(right, int):
        if right == 0:
            return left
        if isinstance(left, DimExpr) and left.operator in "+-" and isinstance(left.right, int):
            return add(left.left, (left.right if left.operator == "+" else -left.right) + right)
        if right < 0:
            return DimExpr("-", left, -right)
    return DimExpr("+", left, right)


def sub(left: Dim, right: Dim) -> Dim:
    """left − right."""
    if isinstance(right, int):
        return add(left, -right)
    return 0 if left == right else DimExpr("-", left, right)


def mul(left: Dim, right: Dim) -> Dim:
    """left · right."""
    if isinstance(left, int) and isinstance(right, int):
        return left * right
    if isinstance(left, int):
        left, right = right, left
    if right == 1:
        return left
    return 0 if right == 0 else DimExpr("*", left, right)


def floor_div(left: Dim, right: Dim) -> Dim:
    """⌊left ÷ right⌋; `right` is never 0."""
    if isinstance(left, int) and isinstance(right, int):
        return left // right
    return left if right == 1 else DimExpr("//", left, right)


def total(shape: Iterable[Dim]) -> Dim:
    """The product of all dimensions: how many elements a shape has."""
    size: Dim = 1
    for dim in shape:
        size = mul(size, dim)
    return size


def symbols(dim: Dim) -> frozenset[str]:
    """The names of the unknowns in a dimension."""
    match dim:
        case Symbol(name):
            return frozenset((name,))
        case DimExpr(_, left, right):
            return symbols(left) | symbols(right)
        case _:
            return frozenset()


def is_static(shape: Iterable[Dim]) -> bool:
    """Whether every dimension is a number."""
    return all(isinstance(dim, int) for dim in shape)


def bind(dim: Dim, values: Mapping[str, int]) -> Dim:
    """The dimension with the named unknowns replaced; names that are not in `values` stay."""
    match dim:
        case Symbol(name):
            return values.get(name, dim)
        case DimExpr("+", left, right):
            return add(bind(left, values), bind(right, values))
        case DimExpr("-", left, right):
            return sub(bind(left, values), bind(right, values))
        case DimExpr("*", left, right):
            return mul(bind(left, values), bind(right, values))
        case DimExpr(_, left, right):
            return floor_div(bind(left, values), bind(right, values))
        case _:
            return dim
