"""Scalar expressions of a stage as values of a nest: vectors where they change from lane to lane, scalars elsewhere.

One axis is the vector axis: its value contains the variable `lane`. An expression without it is computed once and
broadcast only where a vector meets it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from rlx_base.dtypes import BOOL, DTYPES, FLOAT32, INDEX, DType
from rlx_compiler.loops import build
from rlx_compiler.loops.address import linear_terms
from rlx_compiler.loops.ir import Apply, Bitcast, Broadcast, Buffer, Cast, Expr, Literal, Load, Ramp, Select, Store, Var
from rlx_compiler.loops.rewrite import map_children, walk
from rlx_compiler.lowering.indices import Scope, index_of, interval, truth
from rlx_ir import expr as ir
from rlx_ir.expr import Axis, Extent, Read, Reduce, Tensor

__all__ = ["LANE", "NotVectorisable", "Values", "computed", "lane_stride", "splat", "stored"]

LANE: Final = "lane"
_LANE_VAR: Final = Var(LANE)
_WIDE: Final = {"float": FLOAT32, "int": DTYPES["int8"], "uint": DTYPES["uint8"]}


class NotVectorisable(Exception):
    """The expression cannot be computed for neighbouring lanes at once; the nest is then made of scalars."""


def computed(dtype: DType) -> DType:
    """The dtype in which values of `dtype` are computed: float16, bfloat16 and what is smaller are only stored."""
    return _WIDE[dtype.kind] if dtype.numpy is None or dtype.name == "float16" else dtype


def splat(value: Expr, lanes: int) -> Expr:
    """The value in `lanes` lanes."""
    return value if value.lanes == lanes else Broadcast(value, lanes)


def stored(value: Expr, dtype: DType) -> Expr:
    """The value as it is written to a buffer of this dtype."""
    match value:
        case Cast(inner, wide) if inner.dtype == dtype and wide == computed(dtype) != dtype:
            return inner
    return value if value.dtype == dtype else Cast(value, dtype)


def _has_lane(expr: Expr) -> bool:
    return any(part == _LANE_VAR for part in walk(expr))


def _without_lane(expr: Expr) -> Expr:
    """The value in lane 0."""
    if expr == _LANE_VAR:
        return build.index(0)
    changed = map_children(expr, _without_lane)
    match changed:
        case Apply("add", (a, b)) if changed.dtype == INDEX and changed.lanes == 1:
            return build.add(a, b)
        case Apply("mul", (a, b)) if changed.dtype == INDEX and changed.lanes == 1:
            return build.mul(a, b)
        case Apply("sub", (a, b)) if changed.dtype == INDEX and changed.lanes == 1:
            return build.sub(a, b)
    return changed


def lane_stride(index: Expr) -> int | None:
    """By how much an index grows from lane to lane; None where that is not one number."""
    terms, _ = linear_terms(index)
    stride = terms.pop(_LANE_VAR, 0)
    return None if any(_has_lane(atom) for atom in terms) else stride


@dataclass(frozen=True)
class Values:
    """Lowers expressions in one scope.

    `buffers` gives the parameter for each tensor, `sums` what stands for a reduction, `given` the conditions that the
    loops around have made true.
    """

    scope: Scope
    lanes: int
    buffers: Mapping[Tensor, Buffer]
    sums: Callable[[Reduce], Expr] | None = None
    given: frozenset[ir.Expr] = field(default=frozenset())

    def lower(self, expr: ir.Expr) -> Expr:
        """The value: of `lanes` lanes where it differs between them, scalar otherwise. Raises NotVectorisable."""
        match expr:
            case ir.Literal(value, dtype):
                return Literal(value, computed(dtype))
            case Axis() | Extent():
                return self._counted(expr)
            case Read():
                return self._read(expr)
            case Reduce():
                assert self.sums is not None, "a reduction inside a reduction is a stage of its own"
                return self.sums(expr)
            case ir.Cast(value, dtype):
                return self._cast(self.lower(value), value.dtype, dtype)
            case ir.Bitcast(value, dtype):
                return self._same_bits(self.lower(value), value.dtype, dtype)
            case ir.Apply("select", (condition, then, otherwise)):
                return self._select(condition, then, otherwise)
            case ir.Apply(function, arguments):
                return self._apply(expr, function, arguments)
        raise TypeError(f"not an expression: {expr!r}")

    def _index(self, expr: ir.Expr) -> Expr:
        return index_of(expr, self.scope, self._scalar)

    def _scalar(self, expr: ir.Expr) -> Expr:
        value = self.lower(expr)
        if value.lanes != 1:
            raise NotVectorisable
        return value

    def _counted(self, expr: ir.Expr) -> Expr:
        """An index as a value."""
        index = self._index(expr)
        if not _has_lane(index):
            return index
        stride = lane_stride(index)
        if stride is None:
            raise NotVectorisable
        first = _without_lane(index)
        if stride == 1:
            return Ramp(first, self.lanes)
        steps = Apply("mul", (Ramp(build.index(0), self.lanes), Broadcast(build.index(stride), self.lanes)), INDEX)
        return Apply("add", (Broadcast(first, self.lanes), steps), INDEX)

    def _read(self, read: Read) -> Expr:
        buffer = self.buffers[read.tensor]
        indices, stride = self._place(buffer, read.indices)
        load = Load(buffer, indices, 1 if stride == 0 else self.lanes, stride or 1)
        wide = computed(load.dtype)
        return load if load.dtype == wide else Cast(load, wide)

    def store(self, tensor: Tensor, indices: Sequence[ir.Expr], value: Expr) -> Store:
        """The value written to its place. Raises NotVectorisable where the lanes are not evenly spaced there."""
        buffer = self.buffers[tensor]
        where, stride = self._place(buffer, indices)
        if stride == 0 and value.lanes > 1:
            raise NotVectorisable
        return Store(buffer, where, value, stride or 1)

    def _place(self, buffer: Buffer, places: Sequence[ir.Expr]) -> tuple[tuple[Expr, ...], int]:
        """Where lane 0 is, and how far apart the lanes are (0: all in one place)."""
        indices = tuple(self._index(place) for place in places)
        if not any(_has_lane(index) for index in indices):
            return indices, 0
        stride, size = 0, 1
        for index, dim in zip(reversed(indices), reversed(buffer.shape), strict=True):
            own = lane_stride(index)
            if own is None or not isinstance(dim, int):
                raise NotVectorisable
            stride, size = stride + own * size, size * dim
        if stride < 1:
            raise NotVectorisable
        return tuple(_without_lane(index) for index in indices), stride

    def _cast(self, value: Expr, source: DType, dtype: DType) -> Expr:
        wide = computed(dtype)
        if wide != dtype and source != dtype:  # rounded now, not only where it is stored
            return Cast(Cast(value, dtype), wide)
        return value if value.dtype == wide else Cast(value, wide)

    def _same_bits(self, value: Expr, source: DType, dtype: DType) -> Expr:
        same = Bitcast(stored(value, source), dtype) if BOOL not in (source, dtype) else Cast(value, dtype)
        return same if dtype == computed(dtype) else Cast(same, computed(dtype))

    def _select(self, condition: ir.Expr, then: ir.Expr, otherwise: ir.Expr) -> Expr:
        left = self._remaining(condition)
        if left is None:
            return self.lower(then)
        known = None if _reads_any(left) else truth(left, self.scope, self._scalar)
        if known is not None:
            return self.lower(then if known else otherwise)
        chosen = self.lower(left)
        if chosen.lanes != 1 and not (self._is_safe(then) and self._is_safe(otherwise)):
            raise NotVectorisable
        a, b = self.lower(then), self.lower(otherwise)
        lanes = max(a.lanes, b.lanes, chosen.lanes)
        return Select(chosen, splat(a, lanes), splat(b, lanes))

    def _remaining(self, condition: ir.Expr) -> ir.Expr | None:
        """The part of a condition that is not given; None where all of it is."""
        if condition in self.given:
            return None
        match condition:
            case ir.Apply("and", (a, b), dtype):
                x, y = self._remaining(a), self._remaining(b)
                if x is None or y is None:
                    return y if x is None else x
                return ir.Apply("and", (x, y), dtype)
        return condition

    def _is_safe(self, expr: ir.Expr) -> bool:
        """Whether every read in it is in bounds for all values of the variables, so that it may be read in any case."""
        for part in _evaluated(expr):
            if isinstance(part, Read):
                for index, dim in zip(part.indices, part.tensor.shape, strict=True):
                    bounds = interval(self._index(index), self.scope.ranges)
                    if bounds is None or not isinstance(dim, int) or bounds[0] < 0 or bounds[1] >= dim:
                        return False
        return True

    def _apply(self, expr: ir.Expr, function: str, arguments: tuple[ir.Expr, ...]) -> Expr:
        if expr.dtype == INDEX and not _reads_any(expr):
            index = self._index(expr)
            if not _has_lane(index):
                return index
            if lane_stride(index) is not None:
                return self._counted(expr)
        known = truth(expr, self.scope, self._scalar) if expr.dtype == BOOL and not _reads_any(expr) else None
        if known is not None:
            return Literal(known, expr.dtype)
        values = [self.lower(argument) for argument in arguments]
        lanes = max(value.lanes for value in values)
        return Apply(function, tuple(splat(v, lanes) for v in values), computed(expr.dtype))


def _reads_any(expr: ir.Expr) -> bool:
    """Whether an expression depends on data, not on axes alone."""
    return any(isinstance(part, Read | Reduce) for part in ir.walk(expr))


def _evaluated(expr: ir.Expr) -> Iterator[ir.Expr]:
    """The parts of an expression, without those of reductions: they stand in accumulators already."""
    yield expr
    if not isinstance(expr, Reduce):
        for child in ir.children(expr):
            yield from _evaluated(child)
