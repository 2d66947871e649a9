"""Tensor expressions: what an op computes, in index notation. Every target's code is lowered from these.

An op's `expression` receives its operands as `Tensor`s and returns `Tensor`s that it has `define`d:

```python
def expression(self, a: Tensor, b: Tensor) -> Tensor:
    row, column, reduce = Axis("row", a.shape[0]), Axis("column", b.shape[1]), Axis("reduce", a.shape[1])
    return define("c", (row, column), total(a[row, reduce] * b[reduce, column], over=(reduce,)))
```

A softmax first defines its row maxima, then its row sums, then its result: tensors that read other defined tensors
are the stages of the op. Scalars are `Expr` trees of eight kinds: `Literal`, `Axis` (a loop counter), `Extent` (the
size of a dimension), `Read`, `Apply` (a function of `rlx_ir.scalar`), `Cast`, `Bitcast`, and `Reduce`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias
from typing import Literal as Choice

from rlx_base.dtypes import BOOL, FLOAT32, INDEX, DType
from rlx_ir.dims import Dim, Shape
from rlx_ir.scalar import result_dtype

__all__ = [
    "Apply",
    "Axis",
    "Bitcast",
    "Cast",
    "Expr",
    "Extent",
    "Literal",
    "Operand",
    "Read",
    "Reduce",
    "Reduction",
    "Tensor",
    "all_of",
    "apply",
    "cast",
    "clamp",
    "define",
    "extent",
    "greatest",
    "identity",
    "least",
    "literal",
    "maximum",
    "minimum",
    "product",
    "select",
    "stages",
    "total",
    "walk",
    "within",
]

Reduction = Choice["sum", "prod", "max", "min"]


class Expr:
    """A scalar, as a function of the axes in scope. Operators build `Apply` nodes; comparisons are `<`, `<=`, `>`, `>=`
    and the functions `apply("eq", …)`, since `==` compares the trees themselves."""

    __slots__ = ()
    dtype: DType

    def __add__(self, other: Operand) -> Expr:
        return apply("add", self, other)

    def __radd__(self, other: Operand) -> Expr:
        return apply("add", other, self)

    def __sub__(self, other: Operand) -> Expr:
        return apply("sub", self, other)

    def __rsub__(self, other: Operand) -> Expr:
        return apply("sub", other, self)

    def __mul__(self, other: Operand) -> Expr:
        return apply("mul", self, other)

    def __rmul__(self, other: Operand) -> Expr:
        return apply("mul", other, self)

    def __truediv__(self, other: Operand) -> Expr:
        return apply("div", self, other)

    def __rtruediv__(self, other: Operand) -> Expr:
        return apply("div", other, self)

    def __floordiv__(self, other: Operand) -> Expr:
        return apply("floor_div", self, other)

    def __mod__(self, other: Operand) -> Expr:
        return apply("mod", self, other)

    def __neg__(self) -> Expr:
        return apply("neg", self)

    def __lt__(self, other: Operand) -> Expr:
        return apply("lt", self, other)

    def __le__(self, other: Operand) -> Expr:
        return apply("le", self, other)

    def __gt__(self, other: Operand) -> Expr:
        return apply("gt", self, other)

    def __ge__(self, other: Operand) -> Expr:
        return apply("ge", self, other)

    def __and__(self, other: Operand) -> Expr:
        return apply("and", self, other)


@dataclass(frozen=True, slots=True)
class Literal(Expr):
    """A constant. Python's bool, int and float hold every value of every dtype exactly (float for all floats)."""

    value: bool | int | float
    dtype: DType


@dataclass(frozen=True, slots=True)
class Axis(Expr):
    """An iteration axis: counts 0 … extent − 1. `name` is what a schedule calls it; unique in a tensor's definition."""

    name: str
    extent: Dim
    dtype: DType = INDEX


@dataclass(frozen=True, slots=True)
class Extent(Expr):
    """The value of a dimension that is known only at run time."""

    dim: Dim
    dtype: DType = INDEX


@dataclass(frozen=True, slots=True)
class Read(Expr):
    """One element of a tensor. In bounds wherever it is evaluated: a `select` guards it where it might not be."""

    tensor: Tensor
    indices: tuple[Expr, ...]

    @property
    def dtype(self) -> DType:  # type: ignore[override]
        return self.tensor.dtype


@dataclass(frozen=True, slots=True)
class Apply(Expr):
    """A scalar function of `rlx_ir.scalar` applied to arguments of the dtypes it takes."""

    function: str
    arguments: tuple[Expr, ...]
    dtype: DType


@dataclass(frozen=True, slots=True)
class Cast(Expr):
    """A conversion as NumPy's `astype`; float → integer of NaN or out of range is unspecified but never traps."""

    value: Expr
    dtype: DType


@dataclass(frozen=True, slots=True)
class Bitcast(Expr):
    """The same bits as another dtype that takes as many."""

    value: Expr
    dtype: DType


@dataclass(frozen=True, slots=True)
class Reduce(Expr):
    """`kind` over all `axes` of `body`; over an empty axis it is the identity (0, 1, −∞ or lowest, +∞ or highest)."""

    kind: Reduction
    axes: tuple[Axis, ...]
    body: Expr

    @property
    def dtype(self) -> DType:  # type: ignore[override]
        return self.body.dtype


Operand: TypeAlias = Expr | bool | int | float


@dataclass(frozen=True, slots=True)
class Tensor:
    """What can be read at indices: an operand (`body` None), or a defined tensor whose element at `axes` is `body`."""

    name: str
    shape: Shape
    dtype: DType
    axes: tuple[Axis, ...] = ()
    # Not hashed: a tensor's hash would else cost as much as the whole chain of stages that it reads, each many times.
    body: Expr | None = field(default=None, hash=False)

    @property
    def rank(self) -> int:
        return len(self.shape)

    def __getitem__(self, indices: Operand | tuple[Operand, ...]) -> Read:
        places = indices if isinstance(indices, tuple) else (indices,)
        if len(places) != self.rank:
            raise ValueError(f"{self.name} has {self.rank} dimensions, read with {len(places)} indices")
        return Read(self, tuple(_expr(place, INDEX) for place in places))


def define(name: str, axes: Sequence[Axis], body: Expr) -> Tensor:
    """The tensor whose element at `axes` is `body`; its shape is the axes' extents."""
    return Tensor(name, tuple(axis.extent for axis in axes), body.dtype, tuple(axes), body)


def literal(value: bool | int | float, dtype: DType = FLOAT32) -> Literal:
    """A constant of a dtype."""
    if dtype.is_float:
        return Literal(float(value), dtype)
    return Literal(bool(value) if dtype == BOOL else int(value), dtype)


def extent(dim: Dim) -> Expr:
    """A dimension as an index: a literal where it is known."""
    return Literal(dim, INDEX) if isinstance(dim, int) else Extent(dim)


def _expr(operand: Operand, dtype: DType) -> Expr:
    return operand if isinstance(operand, Expr) else literal(operand, dtype)


def apply(function: str, *arguments: Operand) -> Expr:
    """A scalar function applied; Python numbers take the dtype of the other arguments. Folds index arithmetic."""
    operands = arguments[1:] if function == "select" else arguments
    dtype = next((a.dtype for a in operands if isinstance(a, Expr)), FLOAT32)
    exprs = tuple(_expr(a, BOOL if function == "select" and place == 0 else dtype) for place, a in enumerate(arguments))
    return _fold_index(function, exprs) or Apply(function, exprs, result_dtype(function, [e.dtype for e in exprs]))


def _fold_index(function: str, exprs: tuple[Expr, ...]) -> Expr | None:
    """Index arithmetic on literals, and its neutral elements: x + 0, x · 1, x · 0, x // 1, x % 1."""
    if len(exprs) != 2 or exprs[0].dtype != INDEX:
        return None
    match function, exprs[0], exprs[1]:
        case "add", Literal(a), Literal(b):
            return literal(a + b, INDEX)
        case "sub", Literal(a), Literal(b):
            return literal(a - b, INDEX)
        case "mul", Literal(a), Literal(b):
            return literal(a * b, INDEX)
        case ("floor_div", Literal(a), Literal(b)) if b > 0:
            return literal(a // b, INDEX)
        case ("mod", Literal(a), Literal(b)) if b > 0:
            return literal(a % b, INDEX)
        case ("add" | "sub", x, Literal(0)) | ("add", Literal(0), x) | ("mul" | "floor_div", x, Literal(1)):
            return x
        case "mul", Literal(1), x:
            return x
        case ("mul", _, Literal(0)) | ("mul", Literal(0), _) | ("mod", _, Literal(1)):
            return literal(0, INDEX)
    return None


def select(condition: Operand, then: Operand, otherwise: Operand) -> Expr:
    """`then` where the condition holds, else `otherwise`; lazy, so it may guard a read. Folds a known condition."""
    if isinstance(condition, Literal):
        condition = bool(condition.value)
    if isinstance(condition, bool):
        chosen, other = (then, otherwise) if condition else (otherwise, then)
        return (
            chosen if isinstance(chosen, Expr) else _expr(chosen, other.dtype if isinstance(other, Expr) else FLOAT32)
        )
    return apply("select", condition, then, otherwise)


def cast(value: Expr, dtype: DType) -> Expr:
    """The value in another dtype."""
    return value if value.dtype == dtype else Cast(value, dtype)


def all_of(conditions: Sequence[Expr]) -> Operand:
    """Whether all conditions hold; True of none."""
    joined: Operand = True
    for condition in conditions:
        joined = condition if joined is True else apply("and", joined, condition)
    return joined


def within(index: Expr, low: Operand, high: Operand) -> list[Expr]:
    """The conditions low ≤ index < high."""
    return [index >= low, index < high]


def clamp(index: Expr, low: Operand, high: Operand) -> Expr:
    """The nearest index in low … high (inclusive)."""
    return apply("min", apply("max", index, low), high)


def maximum(a: Operand, b: Operand) -> Expr:
    return apply("max", a, b)


def minimum(a: Operand, b: Operand) -> Expr:
    return apply("min", a, b)


def total(body: Expr, over: Sequence[Axis]) -> Expr:
    """Σ of body over the axes."""
    return Reduce("sum", tuple(over), body) if over else body


def product(body: Expr, over: Sequence[Axis]) -> Expr:
    """Π of body over the axes."""
    return Reduce("prod", tuple(over), body) if over else body


def greatest(body: Expr, over: Sequence[Axis]) -> Expr:
    """The maximum of body over the axes; NaN where any is."""
    return Reduce("max", tuple(over), body) if over else body


def least(body: Expr, over: Sequence[Axis]) -> Expr:
    """The minimum of body over the axes; NaN where any is."""
    return Reduce("min", tuple(over), body) if over else body


def children(expr: Expr) -> tuple[Expr, ...]:
    """The direct parts of an expression."""
    match expr:
        case Read(_, indices):
            return indices
        case Apply(_, arguments):
            return arguments
        case Cast(value) | Bitcast(value):
            return (value,)
        case Reduce(_, _, body):
            return (body,)
        case _:
            return ()


def walk(expr: Expr) -> Iterator[Expr]:
    """The expression and all its parts, outermost first."""
    yield expr
    for child in children(expr):
        yield from walk(child)


def stages(results: Sequence[Tensor]) -> list[Tensor]:
    """All defined tensors that the results need, each after those it reads; operands are not among them."""
    order: dict[Tensor, None] = {}

    def visit(tensor: Tensor) -> None:
        if tensor in order or tensor.body is None:
            return
        for part in walk(tensor.body):
            if isinstance(part, Read):
                visit(part.tensor)
        order[tensor] = None

    for result in results:
        visit(result)
    return list(order)


_IDENTITY: Final[dict[str, float]] = {"sum": 0.0, "prod": 1.0, "max": float("-inf"), "min": float("inf")}


def identity(kind: Reduction, dtype: DType) -> Literal:
    """What a reduction starts from: the value that changes nothing."""
    if dtype.is_float or kind in ("sum", "prod"):
        return literal(_IDENTITY[kind], dtype)
    if dtype == BOOL:
        return literal(kind == "min", dtype)
    signed = dtype.kind == "int"
    lowest = -(2 ** (dtype.bits - 1)) if signed else 0
    highest = 2 ** (dtype.bits - (1 if signed else 0)) - 1
    return literal(lowest if kind == "max" else highest, dtype)
