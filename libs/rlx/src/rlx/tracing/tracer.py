"""The array that a traced function sees: it has shape and dtype, and records what is done to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from rlx.tracing.places import locate
from rlx.tracing.trace import cannot
from rlx_base.dtypes import DTYPES
from rlx_base.errors import CompileError

if TYPE_CHECKING:
    from rlx.tracing.trace import Trace

__all__ = ["Tracer"]


class Tracer(NDArrayOperatorsMixin):
    """Stands for a NumPy array whose elements are not known yet."""

    def __init__(self, trace: Trace, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.trace = trace
        self.name = name
        self.shape = shape
        self.dtype = dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def T(self) -> Tracer:
        return self.transpose()

    # ── NumPy's functions and operators ──

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **arguments: Any) -> Any:
        from rlx.tracing.ufuncs import apply_ufunc

        return apply_ufunc(self.trace, ufunc, method, inputs, arguments)

    def __array_function__(
        self, function: Callable[..., Any], _: object, arguments: tuple[Any, ...], named: dict[str, Any]
    ) -> Any:
        from rlx.tracing.functions import apply_function

        return apply_function(self.trace, function, arguments, named)

    # ── methods, as NumPy has them ──

    def _call(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        from rlx.tracing.functions import apply_function

        given = {name: value for name, value in named.items() if value is not None}
        return apply_function(self.trace, function, (self, *arguments), given)

    def sum(self, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tracer:
        return self._call(np.sum, axis=axis, dtype=dtype, keepdims=keepdims)  # type: ignore[no-any-return]

    def prod(self, axis: Any = None, keepdims: bool = False) -> Tracer:
        return self._call(np.prod, axis=axis, keepdims=keepdims)  # type: ignore[no-any-return]

    def mean(self, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tracer:
        return self._call(np.mean, axis=axis, dtype=dtype, keepdims=keepdims)  # type: ignore[no-any-return]

    def max(self, axis: Any = None, keepdims: bool = False) -> Tracer:
        return self._call(np.max, axis=axis, keepdims=keepdims)  # type: ignore[no-any-return]

    def min(self, axis: Any = None, keepdims: bool = False) -> Tracer:
        return self._call(np.min, axis=axis, keepdims=keepdims)  # type: ignore[no-any-return]

    def var(self, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Tracer:
        return self._call(np.var, axis=axis, ddof=ddof, keepdims=keepdims)  # type: ignore[no-any-return]

    def std(self, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Tracer:
        return self._call(np.std, axis=axis, ddof=ddof, keepdims=keepdims)  # type: ignore[no-any-return]

    def argmax(self, axis: Any = None, keepdims: bool = False) -> Tracer:
        return self._call(np.argmax, axis=axis, keepdims=keepdims)  # type: ignore[no-any-return]

    def argmin(self, axis: Any = None, keepdims: bool = False) -> Tracer:
        return self._call(np.argmin, axis=axis, keepdims=keepdims)  # type: ignore[no-any-return]

    def any(self, axis: Any = None, keepdims: bool = False) -> Tracer:
        return self._call(np.any, axis=axis, keepdims=keepdims)  # type: ignore[no-any-return]

    def all(self, axis: Any = None, keepdims: bool = False) -> Tracer:
        return self._call(np.all, axis=axis, keepdims=keepdims)  # type: ignore[no-any-return]

    def clip(self, min: Any = None, max: Any = None) -> Tracer:
        return self._call(np.clip, min, max)  # type: ignore[no-any-return]

    def round(self, decimals: int = 0) -> Tracer:
        return self._call(np.round, decimals)  # type: ignore[no-any-return]

    def dot(self, other: Any) -> Tracer:
        return self._call(np.dot, other)  # type: ignore[no-any-return]

    def ravel(self) -> Tracer:
        return self._call(np.ravel)  # type: ignore[no-any-return]

    def flatten(self) -> Tracer:
        return self._call(np.ravel)  # type: ignore[no-any-return]

    def squeeze(self, axis: Any = None) -> Tracer:
        return self._call(np.squeeze, axis=axis)  # type: ignore[no-any-return]

    def swapaxes(self, axis1: int, axis2: int) -> Tracer:
        return self._call(np.swapaxes, axis1, axis2)  # type: ignore[no-any-return]

    def reshape(self, *shape: Any) -> Tracer:
        return self._call(np.reshape, _sizes(shape))  # type: ignore[no-any-return]

    def transpose(self, *axes: Any) -> Tracer:
        order = _sizes(axes)
        return self._call(np.transpose, order if order else None)  # type: ignore[no-any-return]

    def astype(self, dtype: Any, **_: Any) -> Tracer:
        wanted = np.dtype(dtype)
        if wanted.name not in DTYPES:
            raise cannot(f"an array of {wanted}", "there is no such dtype in RLX")
        return self if wanted == self.dtype else self.trace.apply("cast", self, to=wanted.name)

    def copy(self) -> Tracer:
        return self

    # ── indexing ──

    def __getitem__(self, index: Any) -> Tracer:
        from rlx.tracing.indexing import take

        return take(self, index)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Iterator[Tracer]:
        return (self[place] for place in range(len(self)))

    # ── what needs a value ──

    def __setitem__(self, index: Any, value: Any) -> NoReturn:
        raise cannot("changing an array in place", "np.where gives a changed copy")

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        raise _needs_value("making a plain array of it")

    def __bool__(self) -> NoReturn:
        raise _needs_value("a truth value")

    def __float__(self) -> NoReturn:
        raise _needs_value("float()")

    def __int__(self) -> NoReturn:
        raise _needs_value("int()")

    def __index__(self) -> NoReturn:
        raise _needs_value("an index")

    def item(self) -> NoReturn:
        raise _needs_value(".item()")

    def tolist(self) -> NoReturn:
        raise _needs_value(".tolist()")

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"<traced {self.dtype}{list(self.shape)}>"


def _sizes(given: Sequence[Any]) -> tuple[Any, ...]:
    """(2, 3) and ((2, 3),) alike."""
    if len(given) == 1 and isinstance(given[0], Sequence):
        return tuple(given[0])
    return tuple(size for size in given if size is not None)


def _needs_value(what: str) -> CompileError:
    error = CompileError("E221", what=what)
    locate(error)
    return error
