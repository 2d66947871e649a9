"""Neighbouring axes made one where memory allows: rows of an image become one long row, an elementwise op one loop.

Two axes are one where every read that uses them uses them as two neighbouring dimensions of exactly their sizes, and
nothing else in the body depends on them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from rlx_compiler.lowering.storage import Stage
from rlx_compiler.lowering.substitute import map_reads, reads, rebuild, reduces
from rlx_ir.dims import mul
from rlx_ir.expr import Axis, Expr, Read, Reduce, Tensor, children, walk

__all__ = ["collapse"]


@dataclass(frozen=True, slots=True)
class _Pair:
    outer: Axis
    inner: Axis

    @property
    def merged(self) -> Axis:
        return Axis(f"{self.outer.name}_{self.inner.name}", mul(self.outer.extent, self.inner.extent))


def collapse(stage: Stage, kept: Collection[str] = ()) -> Stage:
    """The stage with as few axes as possible; those named in `kept` stay as they are."""
    while (pair := _next_pair(stage, kept)) is not None:
        stage = _merge(stage, pair)
    return stage


def _next_pair(stage: Stage, kept: Collection[str]) -> _Pair | None:
    for pair in _candidates(stage):
        if pair.outer.name not in kept and pair.inner.name not in kept and _allowed(stage, pair):
            return pair
    return None


def _candidates(stage: Stage) -> Iterator[_Pair]:
    for outer, inner in zip(stage.axes, stage.axes[1:], strict=False):
        yield _Pair(outer, inner)
    for reduce in reduces(stage.body):
        for outer in reduce.axes:
            for inner in reduce.axes:
                if outer != inner:
                    yield _Pair(outer, inner)


def _place(read: Read, pair: _Pair) -> int | None:
    """The dimension at which the read uses the pair as neighbours."""
    for place in range(len(read.indices) - 1):
        own = read.indices[place : place + 2] == (pair.outer, pair.inner)
        if own and read.tensor.shape[place : place + 2] == (pair.outer.extent, pair.inner.extent):
            return place
    return None


def _allowed(stage: Stage, pair: _Pair) -> bool:
    axes = {pair.outer, pair.inner}
    summing = [reduce for reduce in reduces(stage.body) if axes & set(reduce.axes)]
    if summing and any(not axes <= set(reduce.axes) for reduce in summing):
        return False
    if summing and axes & set(stage.axes):
        return False
    uses = sum(1 for part in walk(stage.body) if part in axes)
    place_of: dict[str, int | None] = {}
    neighbours = 0
    for read in reads(stage.body):
        place = _place(read, pair)
        if place is not None:
            neighbours += 2
        if place_of.setdefault(read.tensor.name, place) != place:
            return False
    return uses == neighbours and (uses > 0 or not summing)


def _merge(stage: Stage, pair: _Pair) -> Stage:
    merged = pair.merged

    def flat(tensor: Tensor, place: int) -> Tensor:
        shape = (*tensor.shape[:place], merged.extent, *tensor.shape[place + 2 :])
        return Tensor(tensor.name, shape, tensor.dtype)

    def change(read: Read) -> Expr:
        place = _place(read, pair)
        if place is None:
            return read
        return Read(flat(read.tensor, place), (*read.indices[:place], merged, *read.indices[place + 2 :]))

    body = _merge_summed(map_reads(stage.body, change), pair)
    if pair.outer not in stage.axes:
        return replace(stage, body=body)
    place = stage.axes.index(pair.outer)
    axes = (*stage.axes[:place], merged, *stage.axes[place + 2 :])
    return Stage(flat(stage.output, place), axes, axes, body, stage.outer)


def _merge_summed(expr: Expr, pair: _Pair) -> Expr:
    if not children(expr):
        return expr
    match rebuild(expr, lambda part: _merge_summed(part, pair)):
        case Reduce(kind, axes, body) if pair.outer in axes:
            kept = tuple(axis for axis in axes if axis != pair.inner)
            return Reduce(kind, tuple(pair.merged if a == pair.outer else a for a in kept), body)
        case rebuilt:
            return rebuilt
