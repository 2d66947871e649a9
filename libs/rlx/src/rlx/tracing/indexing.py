"""`x[1, :, None]` on a traced array: basic indexing, as a slice, a squeeze and an unsqueeze."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from rlx.tracing.trace import cannot

if TYPE_CHECKING:
    from rlx.tracing.tracer import Tracer

__all__ = ["take"]


def take(x: Tracer, index: Any) -> Tracer:
    """Numbers, slices, `None` and `...`, as in NumPy. Raises IndexError, and E222 for an index that is an array."""
    parts = list(index) if isinstance(index, tuple) else [index]
    taken = sum(part is not None and part is not Ellipsis for part in parts)
    if taken > x.ndim:
        raise IndexError(f"too many indices: {x.ndim} dimensions, {taken} indices")
    dots = [place for place, part in enumerate(parts) if part is Ellipsis]
    place = dots[0] if dots else len(parts)
    parts[place : place + len(dots)] = [slice(None)] * (x.ndim - taken)
    cuts: dict[int, tuple[int, int | None, int]] = {}
    single: list[int] = []
    new: list[int] = []
    axis = result = 0
    for part in parts:
        if part is None:
            new.append(result)
            result += 1
            continue
        if isinstance(part, slice):
            if part != slice(None):
                cuts[axis] = _bounds(part, x.shape[axis])
            result += 1
        else:
            at = _number(part, x.shape[axis])
            cuts[axis] = (at, at + 1, 1)
            single.append(axis)
        axis += 1
    if cuts:
        starts, ends, steps = (list(column) for column in zip(*cuts.values(), strict=True))
        x = x.trace.apply("slice", x, starts=starts, ends=ends, axes=list(cuts), steps=steps)
    if single:
        x = x.trace.apply("squeeze", x, axes=single)
    if new:
        x = x.trace.apply("unsqueeze", x, axes=new)
    return x


def _bounds(part: slice, size: int) -> tuple[int, int | None, int]:
    start, stop, step = part.indices(size)
    # Going down, the end before the first element has no number: −1 is the last one.
    return start, None if step < 0 and stop < 0 else stop, step


def _number(part: Any, size: int) -> int:
    try:
        at = operator.index(part)
    except TypeError:
        raise cannot(f"indexing with a {type(part).__name__}", "an index is a number, a slice, None or ...") from None
    if isinstance(part, bool) or not -size <= at < size:
        raise IndexError(f"index {part} is out of bounds for size {size}")
    return at % size
