"""A slow, strict evaluator of tensor expressions with NumPy: it ties every op's `expression` to its `reference`.

It reads each element where the expression says, and fails where a read that counts is out of bounds: what generated
code would do wrong silently, it does loudly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlx_ir.dims import Dim, Symbol, bind
from rlx_ir.elements import numpy_of, widened
from rlx_ir.expr import Apply, Axis, Bitcast, Cast, Expr, Extent, Literal, Read, Reduce, Tensor, identity, stages
from rlx_ir.op import Array
from rlx_ir.scalar import SCALARS

__all__ = ["evaluate"]

_FOLDS: Mapping[str, np.ufunc] = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}


def evaluate(
    results: Sequence[Tensor], operands: Mapping[str, Array], dims: Mapping[str, int] | None = None
) -> tuple[Array, ...]:
    """The elements of defined tensors, given those of the operands by name.

    `dims` are the values of symbolic dimensions that no operand's shape gives by itself.
    """
    known = dict(dims or {})
    values: dict[Tensor, Array] = {}
    with np.errstate(all="ignore"):
        for tensor in stages(results):
            values[tensor] = _Evaluation(known, values, operands).define(tensor)
        return tuple(values[result] for result in results)


@dataclass(frozen=True)
class _Scope:
    """The axes in scope, each an array along its own dimension, and which places count (None: all)."""

    axes: Mapping[str, NDArray[np.int64]]
    shape: tuple[int, ...]
    mask: NDArray[np.bool_] | None = None


@dataclass(frozen=True)
class _Evaluation:
    dims: dict[str, int]
    values: Mapping[Tensor, Array]
    operands: Mapping[str, Array]

    def define(self, tensor: Tensor) -> Array:
        assert tensor.body is not None
        self._learn_symbols(tensor.body)
        shape = tuple(self._size(axis.extent) for axis in tensor.axes)
        body = self._value(tensor.body, _Scope(_counters(tensor.axes, shape, 0), shape))
        return np.broadcast_to(body, shape).astype(numpy_of(tensor.dtype))

    def _learn_symbols(self, body: Expr) -> None:
        """Bind the names in the operands' shapes to the sizes of their arrays."""
        from rlx_ir.expr import walk

        for part in walk(body):
            if isinstance(part, Read) and part.tensor.body is None:
                actual = self.operands[part.tensor.name].shape
                for dim, size in zip(part.tensor.shape, actual, strict=True):
                    if isinstance(dim, Symbol):
                        self.dims.setdefault(dim.name, size)

    def _size(self, dim: Dim) -> int:
        size = bind(dim, self.dims)
        assert isinstance(size, int), f"{dim} is not known"
        return size

    def _value(self, expr: Expr, scope: _Scope) -> Array:
        match expr:
            case Literal(value, dtype):
                return widened(np.asarray(value, numpy_of(dtype)))
            case Axis(name):
                return scope.axes[name]
            case Extent(dim):
                return np.asarray(self._size(dim), np.int64)
            case Cast(value, dtype):
                return widened(np.asarray(self._value(value, scope)).astype(numpy_of(dtype)))
            case Bitcast(value, dtype):
                bits = np.asarray(self._value(value, scope)).astype(numpy_of(value.dtype))
                return widened(bits.view(numpy_of(dtype)))
            case Apply("select", (condition, then, otherwise)):
                return self._select(condition, then, otherwise, scope)
            case Apply(function, arguments):
                return np.asarray(SCALARS[function].apply(*(self._value(a, scope) for a in arguments)))
            case Reduce():
                return self._reduce(expr, scope)
            case Read(tensor, indices):
                return self._read(tensor, [self._value(index, scope) for index in indices], scope)
        raise TypeError(f"not an expression: {expr!r}")

    def _select(self, condition: Expr, then: Expr, otherwise: Expr, scope: _Scope) -> Array:
        holds = np.broadcast_to(self._value(condition, scope), scope.shape)
        counts = np.ones(scope.shape, bool) if scope.mask is None else np.broadcast_to(scope.mask, scope.shape)
        return np.where(
            holds,
            self._value(then, _Scope(scope.axes, scope.shape, counts & holds)),
            self._value(otherwise, _Scope(scope.axes, scope.shape, counts & ~holds)),
        )

    def _reduce(self, reduce: Reduce, scope: _Scope) -> Array:
        """New axes go in front, so that all arrays in scope broadcast along them as they are."""
        extents = tuple(self._size(axis.extent) for axis in reduce.axes)
        shape = extents + scope.shape
        axes = {**scope.axes, **_counters(reduce.axes, extents, len(scope.shape))}
        body = np.broadcast_to(self._value(reduce.body, _Scope(axes, shape, scope.mask)), shape)
        start = np.asarray(identity(reduce.kind, reduce.dtype).value, body.dtype)
        fold = _FOLDS[reduce.kind]
        return np.asarray(fold.reduce(body, axis=tuple(range(len(extents))), initial=start, dtype=body.dtype))

    def _read(self, tensor: Tensor, indices: list[Any], scope: _Scope) -> Array:
        array = widened(self.values[tensor] if tensor.body is not None else self.operands[tensor.name])
        if array.ndim == 0:
            return array
        inside = np.ones(scope.shape, bool)
        for index, size in zip(indices, array.shape, strict=True):
            inside = inside & (index >= 0) & (index < size)
        outside = ~inside if scope.mask is None else scope.mask & ~inside
        if outside.any():
            place = tuple(int(i) for i in np.argwhere(np.broadcast_to(outside, scope.shape))[0])
            raise IndexError(f"{tensor.name}{list(array.shape)} is read out of bounds at {place}")
        if array.size == 0:
            return np.zeros((), array.dtype)
        limited = (np.clip(index, 0, size - 1) for index, size in zip(indices, array.shape, strict=True))
        return np.asarray(array[tuple(np.broadcast_arrays(*limited))])


def _counters(axes: Sequence[Axis], extents: Sequence[int], inner: int) -> dict[str, NDArray[np.int64]]:
    """Each axis as a counter along its own dimension, before `inner` others."""
    rank = len(axes)
    return {
        axis.name: np.arange(size, dtype=np.int64).reshape((size,) + (1,) * (rank - place - 1 + inner))
        for place, (axis, size) in enumerate(zip(axes, extents, strict=True))
    }
