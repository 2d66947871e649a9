"""Constants as restricted NumPy expressions: a small tree with a known shape and dtype, evaluated when first needed.

A tree is built by the functions below, which infer and check before anything is allocated: no part of a constant
may have more than `MAX_ELEMENTS`. Evaluation draws every random number of one constant from one `RandomState`
stream, in the order in which NumPy would: operands first, left to right.
"""

from __future__ import annotations

import hashlib
import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rlx_base.dtypes import DTYPES, of_numpy
from rlx_ir.constants.functions import FUNCTIONS, Argument, Static, fits, numpy_dtype
from rlx_ir.module import Computed

__all__ = [
    "MAX_ELEMENTS",
    "OPERATORS",
    "Binary",
    "Call",
    "Cast",
    "Elements",
    "Expression",
    "Negated",
    "Number",
    "Reshaped",
    "TooLarge",
    "Transposed",
    "Tree",
    "binary",
    "call",
    "cast",
    "elements",
    "literal",
    "negated",
    "of_array",
    "reshaped",
    "seed_of",
    "transposed",
]

MAX_ELEMENTS: Final = 1 << 26


class TooLarge(ValueError):
    """A part of a constant has more than MAX_ELEMENTS elements."""

    def __init__(self, count: int) -> None:
        self.count = count
        super().__init__(f"{count} elements")


@dataclass(frozen=True, slots=True)
class Number:
    """A Python number: it takes the dtype of what it meets."""

    value: bool | int | float


@dataclass(frozen=True, slots=True)
class Elements:
    """Elements written out."""

    data: Computed
    static: Static


@dataclass(frozen=True, slots=True)
class Call:
    """A function of the table, with every argument that is not its default."""

    function: str
    arguments: tuple[tuple[str, Argument], ...]
    static: Static


@dataclass(frozen=True, slots=True)
class Binary:
    operator: str
    left: Tree
    right: Tree
    static: Static


@dataclass(frozen=True, slots=True)
class Negated:
    operand: Array
    static: Static


@dataclass(frozen=True, slots=True)
class Cast:
    operand: Array
    static: Static


@dataclass(frozen=True, slots=True)
class Reshaped:
    operand: Array
    static: Static


@dataclass(frozen=True, slots=True)
class Transposed:
    operand: Array
    axes: tuple[int, ...]
    static: Static


Array: TypeAlias = Elements | Call | Binary | Negated | Cast | Reshaped | Transposed
Tree: TypeAlias = Number | Array

OPERATORS: Final[dict[str, tuple[Callable[[Any, Any], Any], np.ufunc]]] = {
    "+": (operator.add, np.add),
    "-": (operator.sub, np.subtract),
    "*": (operator.mul, np.multiply),
    "/": (operator.truediv, np.true_divide),
    "//": (operator.floordiv, np.floor_divide),
    "%": (operator.mod, np.remainder),
    "**": (operator.pow, np.power),
}


def _bounded(static: Static) -> Static:
    if static.count > MAX_ELEMENTS:
        raise TooLarge(static.count)
    return static


def literal(value: bool | int | float) -> Number:
    """A number as written. Raises ValueError where no dtype holds it."""
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:
        raise ValueError("whole numbers have at most 64 bits")
    return Number(value)


def elements(nested: object, dtype: str | None = None) -> Elements:
    """A number or nested lists of numbers, as `np.array` takes them. Raises ValueError where it cannot."""
    target = None if dtype is None else numpy_dtype(dtype)
    try:
        array = np.array(nested)
        if array.dtype.kind not in "biuf":
            raise ValueError("write nested lists of numbers, all rows equally long")
        if target is not None:
            if array.dtype.kind == "f" and target.kind in "iu":
                wrong = next((v for v in array.flat if not fits(float(v), of_numpy(target))), None)
                if wrong is not None:
                    raise ValueError(f"{wrong} does not fit {target}")
            with np.errstate(over="ignore"):
                array = np.array(nested, dtype=target)  # straight from Python's numbers, so that no digit is lost
    except (OverflowError, TypeError) as problem:
        raise ValueError(str(problem)) from None
    return of_array(array)


def of_array(array: NDArray[Any]) -> Elements:
    """Elements that are at hand."""
    kept = np.ascontiguousarray(array).reshape(array.shape)
    kept.flags.writeable = False
    return Elements(Computed(kept), Static(kept.shape, of_numpy(kept.dtype)))


def call(function: str, arguments: dict[str, Any]) -> Call:
    """A call with all arguments bound by name, defaults included. Raises ValueError, TooLarge."""
    row = FUNCTIONS[function]
    static = _bounded(row.infer(arguments))
    numpy_dtype(static.dtype.name)
    kept = tuple((p.name, arguments[p.name]) for p in row.parameters if p.required or arguments[p.name] != p.default)
    return Call(function, kept, static)


def negated(operand: Tree) -> Tree:
    """−operand."""
    if isinstance(operand, Number):
        return literal(-operand.value)
    if operand.static.dtype.kind == "bool":
        raise ValueError("truth values have no minus")
    return Negated(operand, operand.static)


def binary(symbol: str, left: Tree, right: Tree) -> Tree:
    """`left symbol right`, with NumPy's broadcasting and promotion; two plain numbers are computed at once."""
    python, ufunc = OPERATORS[symbol]
    if isinstance(left, Number) and isinstance(right, Number):
        return _of_numbers(symbol, python, left.value, right.value)
    types = [_operand_type(tree) for tree in (left, right)]
    try:
        dtype = ufunc.resolve_dtypes((*types, None))[-1]
    except TypeError:
        raise ValueError(f"{symbol} of {_named(left)} and {_named(right)}") from None
    result = of_numpy(dtype)
    if symbol == "**" and result.is_integer and not (isinstance(right, Number) and right.value >= 0):
        raise ValueError("an integer power takes a number ≥ 0")
    for tree in (left, right):
        weak = isinstance(tree, Number) and type(tree.value) is int and result.is_integer
        if weak and isinstance(tree, Number) and not fits(tree.value, result):
            raise ValueError(f"{tree.value} does not fit {result}")
    shapes = [() if isinstance(tree, Number) else tree.static.shape for tree in (left, right)]
    return Binary(symbol, left, right, _bounded(Static(_broadcast(*shapes), result)))


def _broadcast(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...]:
    rank = max(len(left), len(right))
    pairs = zip((1,) * (rank - len(left)) + left, (1,) * (rank - len(right)) + right, strict=True)
    shape = []
    for a, b in pairs:
        if a != b and 1 not in (a, b):
            raise ValueError(f"shapes {left} and {right} do not broadcast")
        shape.append(b if a == 1 else a)
    return tuple(shape)


def _operand_type(tree: Tree) -> Any:
    if isinstance(tree, Number):
        # Python's own type stands for a number that takes the dtype of what it meets; bool is never weak.
        return np.dtype(bool) if isinstance(tree.value, bool) else type(tree.value)
    return numpy_dtype(tree.static.dtype.name)


def _named(tree: Tree) -> str:
    return repr(tree.value) if isinstance(tree, Number) else str(tree.static.dtype)


def _of_numbers(symbol: str, compute: Callable[[Any, Any], Any], left: Any, right: Any) -> Number:
    whole = symbol == "**" and isinstance(left, int) and isinstance(right, int) and right > 0 and abs(left) > 1
    if whole and right * math.log2(abs(left)) > 65:  # bounded before it is computed
        raise ValueError("whole numbers have at most 64 bits")
    try:
        value = compute(left, right)
    except (ZeroDivisionError, OverflowError) as wrong:
        raise ValueError(str(wrong)) from None
    if not isinstance(value, bool | int | float):
        raise ValueError(f"{left} {symbol} {right} is not a real number")
    return literal(value)


def cast(operand: Tree, dtype: str) -> Cast:
    """`.astype(dtype)`."""
    numpy_dtype(dtype)
    array = as_array(operand)
    return Cast(array, Static(array.static.shape, DTYPES[dtype]))


def reshaped(operand: Tree, shape: Sequence[int]) -> Reshaped:
    """`.reshape(shape)`; one −1 stands for what is left."""
    array = as_array(operand)
    sizes = list(shape)
    if sizes.count(-1) == 1:
        rest = math.prod(size for size in sizes if size != -1)
        if rest <= 0 or array.static.count % rest:
            raise ValueError(f"{array.static.shape} cannot be reshaped to {tuple(shape)}")
        sizes[sizes.index(-1)] = array.static.count // rest
    if any(size < 0 for size in sizes) or math.prod(sizes) != array.static.count or len(sizes) > 16:
        raise ValueError(f"{array.static.shape} cannot be reshaped to {tuple(shape)}")
    return Reshaped(array, Static(tuple(sizes), array.static.dtype))


def transposed(operand: Tree, axes: Sequence[int] | None = None) -> Transposed:
    """`.transpose(axes)`; without axes they are reversed."""
    array = as_array(operand)
    rank = len(array.static.shape)
    order = tuple(range(rank))[::-1] if axes is None else tuple(axes)
    if not all(-rank <= axis < rank for axis in order) or sorted(axis % rank for axis in order) != list(range(rank)):
        raise ValueError(f"axes {order} of {rank} dimensions")
    order = tuple(axis % rank for axis in order)
    return Transposed(array, order, Static(tuple(array.static.shape[axis] for axis in order), array.static.dtype))


def as_array(tree: Tree) -> Array:
    """A plain number as an array of rank 0."""
    return elements(tree.value) if isinstance(tree, Number) else tree


def is_random(tree: Tree) -> bool:
    """Whether evaluation draws random numbers."""
    match tree:
        case Call(function):
            return FUNCTIONS[function].random
        case Binary(_, left, right):
            return is_random(left) or is_random(right)
        case Negated(operand) | Cast(operand) | Reshaped(operand) | Transposed(operand):
            return is_random(operand)
        case _:
            return False


def seed_of(module: str, constant: str) -> int:
    """The seed of a constant that gives none: the first 4 bytes, little-endian, of SHA-256("module/constant")."""
    return int.from_bytes(hashlib.sha256(f"{module}/{constant}".encode()).digest()[:4], "little")


@dataclass(frozen=True)
class Expression:
    """Elements given by an expression. `seed` is None where nothing is random."""

    tree: Array
    seed: int | None = field(default=None)

    @property
    def static(self) -> Static:
        return self.tree.static

    @cached_property
    def _evaluated(self) -> NDArray[np.generic]:
        random = np.random.RandomState(self.seed if self.seed is not None else 0)
        with np.errstate(all="ignore"):
            value = np.asarray(_evaluate(self.tree, random))
        dtype = numpy_dtype(self.static.dtype.name)
        assert value.shape == self.static.shape, f"{value.shape} where {self.static.shape} was inferred"
        assert value.dtype == dtype, f"{value.dtype} where {dtype} was inferred"
        value = np.ascontiguousarray(value).reshape(value.shape)
        value.flags.writeable = False
        return value

    def array(self) -> NDArray[np.generic]:
        """The elements, read-only; evaluated at the first call and kept."""
        return self._evaluated


def _evaluate(tree: Tree, random: np.random.RandomState) -> Any:
    match tree:
        case Number(value):
            return value
        case Elements(data):
            return data.array()
        case Call(function, arguments, _):
            row = FUNCTIONS[function]
            bound = {p.name: p.default for p in row.parameters} | dict(arguments)
            return np.asarray(row.evaluate(bound, random))
        case Binary(symbol, left, right):
            first = _evaluate(left, random)
            return OPERATORS[symbol][1](first, _evaluate(right, random))
        case Negated(operand):
            return np.negative(_evaluate(operand, random))
        case Cast(operand, static):
            return _converted(np.asarray(_evaluate(operand, random)), numpy_dtype(static.dtype.name))
        case Reshaped(operand, static):
            return np.reshape(_evaluate(operand, random), static.shape)
        case Transposed(operand, axes):
            return np.transpose(_evaluate(operand, random), axes)


def _converted(array: NDArray[Any], dtype: np.dtype[np.generic]) -> NDArray[Any]:
    """`astype`, with the cases that C leaves open decided, since processors differ in them: a float becomes an integer
    by cutting off its fraction and wrapping around; what int64 cannot hold, and NaN, becomes 0."""
    if array.dtype.kind != "f" or dtype.kind not in "iu":
        return array.astype(dtype)
    whole = np.trunc(array.astype(np.float64))
    if dtype.name == "uint64":
        upper = (whole >= 2.0**63) & (whole < 2.0**64)
        high = np.where(upper, whole - 2.0**63, 0.0).astype(np.uint64) + np.uint64(1 << 63)
        return np.where(upper, high, _converted(array, np.dtype("int64")).astype(np.uint64))
    held = (whole >= -(2.0**63)) & (whole < 2.0**63)
    return np.where(held, whole, 0.0).astype(np.int64).astype(dtype)
