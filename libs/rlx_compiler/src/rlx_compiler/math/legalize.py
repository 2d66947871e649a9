"""Rewrites an expression until only operations are left that every processor has.

What stays, per dtype:

- floats: `add sub mul div neg abs sqrt`, comparisons, `is_nan`, and `floor ceil round` where the device has them;
- integers: `add sub mul neg and or xor not shl shr max min`, comparisons, and `quotient remainder`, whose divisor is
  never 0 and never −1 under the lowest number;
- bool: `and or xor not` and comparisons.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from rlx_base.dtypes import BOOL, FLOAT32
from rlx_compiler.loops.ir import Apply, Broadcast, Cast, Expr, Literal, Select
from rlx_compiler.math import exponential, half, integers, inverse, narrow, power, rounding, trigonometric
from rlx_compiler.math.build import cast, greater, less, like, neg
from rlx_compiler.math.graph import rewrite
from rlx_compiler.targets.spec import TargetSpec

__all__ = ["legalize"]

_BOOL: Final = {"add": "or", "max": "or", "mul": "and", "min": "and", "sub": "xor"}


def legalize(expr: Expr, spec: TargetSpec) -> Expr:
    """The same value by legal operations."""
    return rewrite(expr, lambda part: _legal(part, spec))


def _legal(expr: Expr, spec: TargetSpec) -> Expr | None:
    """What stands for this node, whose parts are legal; None where it is legal itself."""
    match expr:
        case Cast(value, dtype) if value.dtype == dtype:
            return value
        case Cast(value, dtype) if value.dtype.numpy is None or dtype.numpy is None:
            return narrow.converted(value, dtype)
        case Cast(value, dtype) if "float16" in (value.dtype.name, dtype.name):
            return half.converted(value, dtype, native="float16" in spec.native)
        case Apply(function, arguments) if arguments[0].dtype.name == "float16":
            wide = tuple(cast(a, FLOAT32) for a in arguments)
            return cast(Apply(function, wide, BOOL if expr.dtype == BOOL else FLOAT32), expr.dtype)
        case Apply(function, arguments) if arguments[0].dtype == BOOL:
            return _of_bools(function, arguments)
        case Apply(function, arguments) if arguments[0].dtype.is_float:
            if function == "nearest" and spec.reassociates:
                return Apply("round", arguments, expr.dtype)
            if function in spec.native:
                return None
            if not spec.float64 and function in _WITHOUT_FLOAT64:
                return _WITHOUT_FLOAT64[function](*arguments)
            return _FLOAT[function](*arguments) if function in _FLOAT else None
        case Apply(function, arguments):
            return _INTEGER[function](*arguments) if function in _INTEGER else None
        case _:
            return None


def _of_bools(function: str, arguments: tuple[Expr, ...]) -> Expr | None:
    if function in _BOOL:
        return Apply(_BOOL[function], arguments, BOOL)
    return arguments[0] if function in ("abs", "neg") else None


def _is_number(expr: Expr) -> bool:
    """Whether it is a constant that is not NaN."""
    literal = expr.value if isinstance(expr, Broadcast) else expr
    return isinstance(literal, Literal) and literal.value == literal.value


def _greater_of(a: Expr, b: Expr) -> Expr:
    """NaN where either is. With a constant it is one instruction, written so that an unordered comparison gives x."""
    if _is_number(a):
        return Select(greater(a, b), a, b)
    if _is_number(b):
        return Select(greater(b, a), b, a)
    return Select(Apply("is_nan", (a,), BOOL), a, Select(greater(a, b), a, b))


def _less_of(a: Expr, b: Expr) -> Expr:
    if _is_number(a):
        return Select(less(a, b), a, b)
    if _is_number(b):
        return Select(less(b, a), b, a)
    return Select(Apply("is_nan", (a,), BOOL), a, Select(less(a, b), a, b))


_FLOAT: Final[dict[str, Callable[..., Expr]]] = {
    "max": _greater_of,
    "min": _less_of,
    "exp": exponential.exp,
    "nearest": exponential.nearest,
    "log": exponential.log,
    "tanh": exponential.tanh,
    "erf": exponential.erf,
    "sin": trigonometric.sin,
    "cos": trigonometric.cos,
    "tan": inverse.tan,
    "asin": inverse.asin,
    "acos": inverse.acos,
    "atan": inverse.atan,
    "sinh": inverse.sinh,
    "cosh": inverse.cosh,
    "asinh": inverse.asinh,
    "acosh": inverse.acosh,
    "atanh": inverse.atanh,
    "pow": power.pow,
    "rem": power.remainder,
    "mod": power.modulo,
    "floor_div": power.floor_divided,
    "floor": rounding.floor,
    "ceil": rounding.ceil,
    "round": rounding.round_even,
}
_WITHOUT_FLOAT64: Final[dict[str, Callable[..., Expr]]] = {
    "sin": trigonometric.sin_without_float64,
    "cos": trigonometric.cos_without_float64,
    "pow": power.pow_without_float64,
}
_INTEGER: Final[dict[str, Callable[..., Expr]]] = {
    "abs": lambda x: x if x.dtype.kind == "uint" else Apply("max", (x, neg(x)), x.dtype),
    "div": integers.truncated,
    "rem": integers.remainder,
    "floor_div": integers.floored,
    "mod": integers.modulo,
    "pow": integers.pow,
    "shift_left": integers.shifted_left,
    "shift_right": integers.shifted_right,
    # Already whole.
    "floor": lambda x: x,
    "ceil": lambda x: x,
    "round": lambda x: x,
    "is_nan": lambda x: like(False, x, BOOL),
}
