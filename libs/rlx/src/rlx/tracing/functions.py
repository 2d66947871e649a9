"""NumPy's functions on whole arrays as ops: reductions, shapes, joining, choosing."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np

from rlx.tracing.trace import Trace, cannot
from rlx.tracing.tracer import Tracer
from rlx.tracing.ufuncs import apply_ufunc

__all__ = ["FUNCTIONS", "apply_function"]

Axes = int | Sequence[int] | None


def apply_function(
    trace: Trace, function: Callable[..., Any], arguments: tuple[Any, ...], named: Mapping[str, Any]
) -> Any:
    """One call of a NumPy function. Raises E222 for one that has no ops, and for arguments that are not supported."""
    name = f"np.{getattr(function, '__name__', function)}"
    recipe = FUNCTIONS.get(function)
    if recipe is None:
        raise cannot(name)
    try:
        bound = inspect.signature(recipe).bind(trace, *arguments, **named)
    except TypeError as error:
        raise cannot(f"{name} with these arguments", str(error)) from None
    return recipe(*bound.args, **bound.kwargs)


def _axes(axis: Axes, rank: int) -> list[int]:
    """The axes counted from the front; all of them for None."""
    if axis is None:
        return list(range(rank))
    given = [axis] if isinstance(axis, int) else list(axis)
    for one in given:
        if not -rank <= one < rank:
            raise np.exceptions.AxisError(one, rank)
    return [one % rank for one in given]


# ── reductions ──


def _reduce(trace: Trace, op: str, a: Tracer, axis: Axes, keepdims: bool) -> Tracer:
    return trace.apply(op, a, axes=_axes(axis, a.ndim), keepdims=bool(keepdims))


def _accumulated(a: Tracer, dtype: Any) -> Tracer:
    """NumPy sums whole numbers in its widest integer."""
    if dtype is not None:
        return a.astype(dtype)
    if a.dtype.kind in "bi":
        return a.astype(np.int64)
    return a.astype(np.uint64) if a.dtype.kind == "u" else a


def _sum(trace: Trace, a: Any, axis: Axes = None, dtype: Any = None, keepdims: bool = False) -> Tracer:
    return _reduce(trace, "reduce_sum", _accumulated(trace.value(a), dtype), axis, keepdims)


def _prod(trace: Trace, a: Any, axis: Axes = None, dtype: Any = None, keepdims: bool = False) -> Tracer:
    return _reduce(trace, "reduce_prod", _accumulated(trace.value(a), dtype), axis, keepdims)


def _mean(trace: Trace, a: Any, axis: Axes = None, dtype: Any = None, keepdims: bool = False) -> Tracer:
    x = trace.value(a)
    wanted = dtype if dtype is not None else x.dtype if x.dtype.kind == "f" else np.float64
    return _reduce(trace, "reduce_mean", x.astype(wanted), axis, keepdims)


def _extreme(op: str) -> Callable[..., Tracer]:
    def recipe(trace: Trace, a: Any, axis: Axes = None, keepdims: bool = False) -> Tracer:
        x = trace.value(a)
        if x.dtype == np.bool_:
            return _reduce(trace, op, x.astype(np.uint8), axis, keepdims).astype(np.bool_)
        return _reduce(trace, op, x, axis, keepdims)

    return recipe


def _truth(op: str) -> Callable[..., Tracer]:
    def recipe(trace: Trace, a: Any, axis: Axes = None, keepdims: bool = False) -> Tracer:
        x = trace.value(a).astype(np.bool_).astype(np.uint8)
        return _reduce(trace, op, x, axis, keepdims).astype(np.bool_)

    return recipe


def _var(trace: Trace, a: Any, axis: Axes = None, ddof: int = 0, keepdims: bool = False) -> Tracer:
    x = trace.value(a)
    difference = x - _mean(trace, x, axis, keepdims=True)
    count = int(np.prod([x.shape[one] for one in _axes(axis, x.ndim)], dtype=np.int64))
    total = _sum(trace, difference * difference, axis, keepdims=keepdims)
    return total / (count - ddof)  # type: ignore[no-any-return]


def _std(trace: Trace, a: Any, axis: Axes = None, ddof: int = 0, keepdims: bool = False) -> Tracer:
    return trace.apply("sqrt", _var(trace, a, axis, ddof, keepdims))


def _arg(op: str) -> Callable[..., Tracer]:
    def recipe(trace: Trace, a: Any, axis: int | None = None, keepdims: bool = False) -> Tracer:
        x = trace.value(a)
        if x.dtype == np.bool_:
            x = x.astype(np.uint8)
        if axis is None:
            x, axis = _ravel(trace, x), 0
        return trace.apply(op, x, axis=_axes(axis, x.ndim)[0], keepdims=bool(keepdims))

    return recipe


# ── shapes ──


def _reshape(trace: Trace, a: Any, shape: int | Sequence[int]) -> Tracer:
    x = trace.value(a)
    sizes = [shape] if isinstance(shape, int) else [int(size) for size in shape]
    return trace.apply("reshape", x, shape=sizes, allow_zero=0 in sizes)


def _ravel(trace: Trace, a: Any) -> Tracer:
    return _reshape(trace, a, -1) if trace.value(a).size else _reshape(trace, a, 0)


def _transpose(trace: Trace, a: Any, axes: Sequence[int] | None = None) -> Tracer:
    x = trace.value(a)
    order = list(reversed(range(x.ndim))) if axes is None else _axes(axes, x.ndim)
    return trace.apply("transpose", x, perm=order)


def _swapaxes(trace: Trace, a: Any, axis1: int, axis2: int) -> Tracer:
    x = trace.value(a)
    order = list(range(x.ndim))
    one, other = _axes([axis1, axis2], x.ndim)
    order[one], order[other] = order[other], order[one]
    return trace.apply("transpose", x, perm=order)


def _moveaxis(trace: Trace, a: Any, source: Axes, destination: Axes) -> Tracer:
    x = trace.value(a)
    moved = dict(zip(_axes(destination, x.ndim), _axes(source, x.ndim), strict=True))
    rest = iter(axis for axis in range(x.ndim) if axis not in moved.values())
    return trace.apply("transpose", x, perm=[moved[place] if place in moved else next(rest) for place in range(x.ndim)])


def _expand_dims(trace: Trace, a: Any, axis: int | Sequence[int]) -> Tracer:
    x = trace.value(a)
    given = [axis] if isinstance(axis, int) else list(axis)
    return trace.apply("unsqueeze", x, axes=_axes(given, x.ndim + len(given)))


def _squeeze(trace: Trace, a: Any, axis: Axes = None) -> Tracer:
    x = trace.value(a)
    axes = [place for place, size in enumerate(x.shape) if size == 1] if axis is None else _axes(axis, x.ndim)
    return trace.apply("squeeze", x, axes=axes) if axes else x


def _broadcast_to(trace: Trace, array: Any, shape: int | Sequence[int]) -> Tracer:
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    x = trace.value(array)
    return trace.apply("expand", x, shape=list(np.broadcast_shapes(x.shape, sizes)))


def _flip(trace: Trace, m: Any, axis: Axes = None) -> Tracer:
    x = trace.value(m)
    index = [slice(None)] * x.ndim
    for one in _axes(axis, x.ndim):
        index[one] = slice(None, None, -1)
    return x[tuple(index)]


def _pad(trace: Trace, array: Any, pad_width: Any, mode: str = "constant", constant_values: float = 0) -> Tracer:
    x = trace.value(array)
    if mode not in ("constant", "reflect", "edge"):
        raise cannot(f"np.pad with mode {mode!r}")
    widths = np.broadcast_to(np.asarray(pad_width), (x.ndim, 2))
    return trace.apply("pad", x, pads=widths.T.ravel().tolist(), mode=mode, value=float(constant_values))


# ── joining and choosing ──


def _alike(trace: Trace, arrays: Sequence[Any]) -> list[Tracer]:
    """Arrays in the dtype that holds all of them."""
    given = [trace.value(array) for array in arrays]
    dtype = np.result_type(*(x.dtype for x in given))
    return [x.astype(dtype) for x in given]


def _concatenate(trace: Trace, arrays: Sequence[Any], axis: int | None = 0) -> Tracer:
    given = _alike(trace, arrays)
    if axis is None:
        given, axis = [_ravel(trace, x) for x in given], 0
    return trace.apply("concat", *given, axis=_axes(axis, given[0].ndim)[0])


def _stack(trace: Trace, arrays: Sequence[Any], axis: int = 0) -> Tracer:
    return _concatenate(trace, [_expand_dims(trace, x, axis) for x in arrays], axis)


def _split(trace: Trace, ary: Any, indices_or_sections: int | Sequence[int], axis: int = 0) -> list[Tracer]:
    x = trace.value(ary)
    (axis,) = _axes(axis, x.ndim)
    size = x.shape[axis]
    if isinstance(indices_or_sections, int):
        if size % indices_or_sections:
            raise ValueError("array split does not result in an equal division")
        bounds = list(range(0, size + 1, size // indices_or_sections))
    else:
        bounds = [0, *indices_or_sections, size]
    sizes = [end - start for start, end in pairwise(bounds)]
    return list(trace.results("split", x, axis=axis, split=sizes))


def _where(trace: Trace, condition: Any, x: Any, y: Any) -> Tracer:
    numbers = [given for given in (x, y) if type(given) in (int, float)]
    arrays = [trace.value(given) for given in (x, y) if type(given) not in (int, float)]
    dtype = np.result_type(*(array.dtype for array in arrays), *numbers)
    chosen = [
        given.astype(dtype) if isinstance(given, Tracer) else trace.value(np.asarray(given).astype(dtype))
        for given in (x, y)
    ]
    return trace.apply("where", trace.value(condition).astype(np.bool_), *chosen)


def _clip(trace: Trace, a: Any, a_min: Any = None, a_max: Any = None) -> Any:
    if a_min is not None:
        a = apply_ufunc(trace, np.maximum, "__call__", (a, a_min), {})
    return a if a_max is None else apply_ufunc(trace, np.minimum, "__call__", (a, a_max), {})


def _dot(trace: Trace, a: Any, b: Any) -> Any:
    x, y = _alike(trace, (a, b))
    if x.ndim == 0 or y.ndim == 0:
        return trace.apply("mul", x, y)
    if y.ndim > 2:
        raise cannot("np.dot of these ranks", "np.matmul says which dimensions meet")
    return trace.apply("matmul", x, y)


def _outer(trace: Trace, a: Any, b: Any) -> Any:
    x, y = _alike(trace, (a, b))
    return trace.apply("mul", _reshape(trace, x, (-1, 1)), _reshape(trace, y, (1, -1)))


def _round(trace: Trace, a: Any, decimals: int = 0) -> Tracer:
    x = trace.value(a)
    if x.dtype.kind != "f":
        return x
    if decimals == 0:
        return trace.apply("round", x)
    scale = trace.value(x.dtype.type(10.0**decimals))
    return trace.apply("div", trace.apply("round", trace.apply("mul", x, scale)), scale)


def _filled(value: float) -> Callable[..., Any]:
    return lambda trace, a, dtype=None: np.full(a.shape, value, dtype or a.dtype)


FUNCTIONS: Final[Mapping[Callable[..., Any], Callable[..., Any]]] = {
    np.sum: _sum,
    np.prod: _prod,
    np.mean: _mean,
    np.max: _extreme("reduce_max"),
    np.amax: _extreme("reduce_max"),
    np.min: _extreme("reduce_min"),
    np.amin: _extreme("reduce_min"),
    np.any: _truth("reduce_max"),
    np.all: _truth("reduce_min"),
    np.var: _var,
    np.std: _std,
    np.argmax: _arg("arg_max"),
    np.argmin: _arg("arg_min"),
    np.reshape: _reshape,
    np.ravel: _ravel,
    np.transpose: _transpose,
    np.swapaxes: _swapaxes,
    np.moveaxis: _moveaxis,
    np.expand_dims: _expand_dims,
    np.squeeze: _squeeze,
    np.broadcast_to: _broadcast_to,
    np.flip: _flip,
    np.pad: _pad,
    np.concatenate: _concatenate,
    np.stack: _stack,
    np.split: _split,
    np.where: _where,
    np.clip: _clip,
    np.dot: _dot,
    np.outer: _outer,
    np.round: _round,
    np.shape: lambda trace, a: a.shape,
    np.ndim: lambda trace, a: a.ndim,
    np.size: lambda trace, a: a.size,
    np.zeros_like: _filled(0),
    np.ones_like: _filled(1),
}
