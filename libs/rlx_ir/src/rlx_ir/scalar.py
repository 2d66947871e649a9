"""The scalar functions that a tensor expression may apply: one row each, with its NumPy meaning.

Emitters have a table with the same names. Where C, LLVM and NumPy differ, the rows here decide:
`max`, `min` propagate NaN; integer ÷ 0 is 0 and overflow wraps, so nothing traps on any target.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal

import numpy as np

from rlx_base.dtypes import BOOL, DType

__all__ = ["SCALARS", "ScalarFunction", "result_dtype", "shifted"]

# "same": the dtype of the (equal) arguments · "bool": a truth value · "select": that of the last two
Rule = Literal["same", "bool", "select"]


@dataclass(frozen=True, slots=True)
class ScalarFunction:
    """A named function of scalars, vectorised over NumPy arrays by `apply`."""

    name: str
    arity: int
    rule: Rule
    apply: Callable[..., Any]


def _integer_safe(float_divide: Callable[..., Any], int_divide: Callable[..., Any]) -> Callable[..., Any]:
    def apply(a: Any, b: Any) -> Any:
        a, b = np.asarray(a), np.asarray(b)
        if a.dtype.kind == "f":
            return float_divide(a, b)
        zero = b == 0
        with np.errstate(over="ignore", divide="ignore"):
            return np.where(zero, np.zeros((), a.dtype), int_divide(a, np.where(zero, np.ones((), b.dtype), b)))

    return apply


def _truncated(a: Any, b: Any) -> Any:
    quotient = np.floor_divide(a, b)
    return (quotient + ((quotient < 0) & (quotient * b != a)).astype(a.dtype)).astype(a.dtype)


def _truncated_remainder(a: Any, b: Any) -> Any:
    return (a - _truncated(a, b) * b).astype(a.dtype)


def _erf(x: Any) -> Any:
    x = np.asarray(x)
    return np.vectorize(math.erf, otypes=[np.float64])(x.astype(np.float64)).astype(x.dtype)


def shifted(shift: Callable[..., Any], a: Any, b: Any) -> Any:
    """A shift of a by b bits; by fewer than none or by all of them, what a left shift by many would give: nothing, or
    the sign alone of a right shift."""
    a, b = np.asarray(a), np.asarray(b)
    fits = (b >= 0) & (b < a.dtype.itemsize * 8)
    beyond = np.where(a < 0, -1, 0).astype(a.dtype) if shift is np.right_shift else np.zeros((), a.dtype)
    return np.where(fits, shift(a, np.where(fits, b, 0).astype(b.dtype)), beyond)


def _rows(*rows: tuple[str, int, Rule, Callable[..., Any]]) -> dict[str, ScalarFunction]:
    return {row[0]: ScalarFunction(*row) for row in rows}


SCALARS: Final[dict[str, ScalarFunction]] = _rows(
    ("add", 2, "same", np.add),
    ("sub", 2, "same", np.subtract),
    ("mul", 2, "same", np.multiply),
    ("div", 2, "same", _integer_safe(np.divide, _truncated)),  # integers truncate towards zero, as C and ONNX
    ("floor_div", 2, "same", _integer_safe(np.floor_divide, np.floor_divide)),
    ("mod", 2, "same", _integer_safe(np.mod, np.mod)),  # the sign of the divisor, as Python and NumPy
    ("rem", 2, "same", _integer_safe(np.fmod, _truncated_remainder)),  # the sign of the dividend, as C
    ("pow", 2, "same", np.power),
    ("max", 2, "same", np.maximum),
    ("min", 2, "same", np.minimum),
    ("neg", 1, "same", np.negative),
    ("abs", 1, "same", np.abs),
    ("exp", 1, "same", np.exp),
    ("log", 1, "same", np.log),
    ("sqrt", 1, "same", np.sqrt),
    ("sin", 1, "same", np.sin),
    ("cos", 1, "same", np.cos),
    ("tanh", 1, "same", np.tanh),
    ("tan", 1, "same", np.tan),
    ("asin", 1, "same", np.arcsin),
    ("acos", 1, "same", np.arccos),
    ("atan", 1, "same", np.arctan),
    ("sinh", 1, "same", np.sinh),
    ("cosh", 1, "same", np.cosh),
    ("asinh", 1, "same", np.arcsinh),
    ("acosh", 1, "same", np.arccosh),
    ("atanh", 1, "same", np.arctanh),
    ("erf", 1, "same", _erf),
    ("floor", 1, "same", np.floor),
    ("ceil", 1, "same", np.ceil),
    ("round", 1, "same", np.rint),  # half to even
    ("eq", 2, "bool", np.equal),
    ("ne", 2, "bool", np.not_equal),
    ("lt", 2, "bool", np.less),
    ("le", 2, "bool", np.less_equal),
    ("gt", 2, "bool", np.greater),
    ("ge", 2, "bool", np.greater_equal),
    ("is_nan", 1, "bool", np.isnan),
    ("and", 2, "same", np.bitwise_and),
    ("or", 2, "same", np.bitwise_or),
    ("xor", 2, "same", np.bitwise_xor),
    ("shift_left", 2, "same", partial(shifted, np.left_shift)),
    ("shift_right", 2, "same", partial(shifted, np.right_shift)),
    ("not", 1, "same", np.invert),
    # select(condition, then, otherwise) is lazy: only the chosen branch is read, so it may guard a read out of bounds
    ("select", 3, "select", np.where),
)


def result_dtype(function: str, arguments: Sequence[DType]) -> DType:
    """The dtype of an application to arguments of equal dtypes. Raises ValueError where they are not equal."""
    row = SCALARS[function]
    operands = arguments[1:] if row.rule == "select" else arguments
    if len(arguments) != row.arity or len({d.name for d in operands}) != 1:
        raise ValueError(f"{function} of {', '.join(map(str, arguments))}")
    return BOOL if row.rule == "bool" else operands[0]
