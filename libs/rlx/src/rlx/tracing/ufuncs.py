"""NumPy's elementwise functions as ops, with NumPy's own choice of dtypes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from rlx.tracing.trace import Trace, cannot
from rlx.tracing.tracer import Tracer

__all__ = ["UFUNCS", "apply_ufunc"]

Recipe = Callable[..., Tracer]


def _op(name: str, **attributes: Any) -> Recipe:
    return lambda trace, *operands: trace.apply(name, *operands, **attributes)


def _logical(name: str) -> Recipe:
    return lambda trace, *operands: trace.apply(name, *(x.astype(np.bool_) for x in operands))


def _either(on_numbers: str, on_truths: str) -> Recipe:
    """NumPy adds truth values as `or` and multiplies them as `and`; RLX has no arithmetic on them."""
    return lambda trace, a, b: trace.apply(on_truths if a.dtype == np.bool_ else on_numbers, a, b)


def _compared(name: str) -> Recipe:
    def recipe(trace: Trace, a: Tracer, b: Tracer) -> Tracer:
        if a.dtype == np.bool_:
            a, b = a.astype(np.uint8), b.astype(np.uint8)
        return trace.apply(name, a, b)

    return recipe


def _negative(trace: Trace, x: Tracer) -> Tracer:
    if x.dtype.kind == "u":
        return trace.apply("sub", trace.value(x.dtype.type(0)), x)
    return trace.apply("neg", x)


def _absolute(trace: Trace, x: Tracer) -> Tracer:
    return x if x.dtype.kind in "ub" else trace.apply("abs", x)


def _bits(name: str) -> Recipe:
    def recipe(trace: Trace, *operands: Tracer) -> Tracer:
        kind = "logical" if operands[0].dtype == np.bool_ else "bitwise"
        return trace.apply(f"{kind}_{name}", *operands)

    return recipe


def _floor_divide(trace: Trace, a: Tracer, b: Tracer) -> Tracer:
    if a.dtype.kind == "f":
        return trace.apply("floor", trace.apply("div", a, b))
    return trace.apply("div", trace.apply("sub", a, trace.apply("mod", a, b)), b)


def _log_of(base: float) -> Recipe:
    def recipe(trace: Trace, x: Tracer) -> Tracer:
        return trace.apply("mul", trace.apply("log", x), trace.value(x.dtype.type(1 / math.log(base))))

    return recipe


UFUNCS: Final[Mapping[np.ufunc, Recipe]] = {
    np.add: _either("add", "logical_or"),
    np.subtract: _op("sub"),
    np.multiply: _either("mul", "logical_and"),
    np.divide: _op("div"),
    np.floor_divide: _floor_divide,
    np.remainder: _op("mod"),
    np.fmod: _op("mod", fmod=True),
    np.power: _op("pow"),
    np.matmul: _op("matmul"),
    np.negative: _negative,
    np.positive: lambda trace, x: x,
    np.absolute: _absolute,
    np.fabs: _op("abs"),
    np.sign: _op("sign"),
    np.square: lambda trace, x: trace.apply("mul", x, x),
    np.sqrt: _op("sqrt"),
    np.reciprocal: _op("reciprocal"),
    np.exp: _op("exp"),
    np.log: _op("log"),
    np.log2: _log_of(2.0),
    np.log10: _log_of(10.0),
    np.sin: _op("sin"),
    np.cos: _op("cos"),
    np.tan: lambda trace, x: trace.apply("div", trace.apply("sin", x), trace.apply("cos", x)),
    np.tanh: _op("tanh"),
    np.floor: _op("floor"),
    np.ceil: _op("ceil"),
    np.rint: _op("round"),
    np.maximum: _either("max", "logical_or"),
    np.minimum: _either("min", "logical_and"),
    np.equal: _op("equal"),
    np.not_equal: _op("not_equal"),
    np.less: _compared("less"),
    np.less_equal: _compared("less_or_equal"),
    np.greater: _compared("greater"),
    np.greater_equal: _compared("greater_or_equal"),
    np.isnan: lambda trace, x: trace.apply("not_equal", x, x),
    np.logical_and: _logical("logical_and"),
    np.logical_or: _logical("logical_or"),
    np.logical_xor: _logical("logical_xor"),
    np.logical_not: _logical("logical_not"),
    np.bitwise_and: _bits("and"),
    np.bitwise_or: _bits("or"),
    np.bitwise_xor: _bits("xor"),
    np.invert: _bits("not"),
}

_REDUCE: Final[Mapping[np.ufunc, Callable[..., Any]]] = {
    np.add: np.sum,
    np.multiply: np.prod,
    np.maximum: np.max,
    np.minimum: np.min,
}


def apply_ufunc(
    trace: Trace, ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], arguments: Mapping[str, Any]
) -> Any:
    """One call of a ufunc. Raises E222 for what has no op."""
    name = f"np.{ufunc.__name__}"
    if method == "reduce" and ufunc in _REDUCE:
        return _REDUCE[ufunc](*inputs, **({"axis": 0} | dict(arguments)))
    if method != "__call__":
        raise cannot(f"{name}.{method}")
    if "out" in arguments:
        raise cannot("changing an array in place", "write x = x + y for x += y")
    if arguments:
        raise cannot(f"{name} with {', '.join(arguments)}")
    recipe = UFUNCS.get(ufunc)
    if recipe is None:
        raise cannot(name)
    if ufunc is np.power and isinstance(inputs[0], Tracer) and type(inputs[1]) is int and inputs[1] == 2:
        return trace.apply("mul", inputs[0], inputs[0])
    return recipe(trace, *_converted(trace, ufunc, inputs))


def _converted(trace: Trace, ufunc: np.ufunc, inputs: tuple[Any, ...]) -> list[Tracer]:
    """The inputs in the dtypes that NumPy would compute in. Python's own numbers take the dtype of what they meet."""
    kinds = [type(given) if type(given) in (int, float) else _dtype(given) for given in inputs]
    try:
        dtypes = ufunc.resolve_dtypes((*kinds, None))
    except TypeError as error:
        raise cannot(f"np.{ufunc.__name__} of {', '.join(map(str, kinds))}", str(error).splitlines()[0]) from None
    converted = []
    for given, dtype in zip(inputs, dtypes, strict=False):
        if isinstance(given, Tracer):
            converted.append(trace.value(given).astype(dtype))
        else:
            converted.append(trace.value(np.asarray(given).astype(dtype)))
    return converted


def _dtype(given: Any) -> np.dtype[Any]:
    return given.dtype if isinstance(given, Tracer) else np.asarray(given).dtype
