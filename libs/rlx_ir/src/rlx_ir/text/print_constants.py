"""The arguments of `rlx.constant(…)` that give a constant back."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from rlx_ir.constants import expression as trees
from rlx_ir.constants.expression import Expression, Tree
from rlx_ir.constants.functions import FUNCTIONS
from rlx_ir.constants.stored import Stored
from rlx_ir.module import Constant
from rlx_ir.text.print_values import Arguments, Written, flat, number, quoted, sequence

__all__ = ["constant_arguments"]

_PRECEDENCE: Final = {"+": 1, "-": 1, "*": 2, "/": 2, "//": 2, "%": 2, "**": 4}
_UNARY: Final = 3
_ATOM: Final = 5
# What NumPy makes of Python's own numbers, so that no dtype needs to be written.
_NATURAL: Final = ("bool", "int64", "float64")
_MAX_WRITTEN: Final = 65_536


def constant_arguments(module: str, constant: Constant) -> Arguments:
    """value and dtype, value and seed, or file and key."""
    data = constant.data
    if isinstance(data, Stored):
        return [("file", quoted(data.file)), ("key", quoted(data.key))]
    if isinstance(data, Expression):
        arguments: Arguments = [("value", _tree(data.tree))]
        if data.seed is not None and data.seed != trees.seed_of(module, constant.name):
            arguments.append(("seed", str(data.seed)))
        return arguments
    return _elements(data.array())


def _elements(array: np.ndarray[Any, Any]) -> Arguments:
    # A program's own large arrays are for a safetensors file; as text they would help nobody.
    arguments: Arguments = [("value", nested(array) if array.size <= _MAX_WRITTEN else "...")]
    if array.dtype.name not in _NATURAL or array.size == 0:
        arguments.append(("dtype", quoted(array.dtype.name)))
    if (array.size == 0 and array.shape != (0,)) or array.size > _MAX_WRITTEN:
        arguments.append(("shape", sequence([str(size) for size in array.shape])))
    return arguments


def nested(array: np.ndarray[Any, Any]) -> Written:
    """The elements as nested lists; short decimals wherever they give the same bits."""
    if array.size == 0:
        return "[]"
    if array.ndim:
        return sequence([nested(row) for row in array])
    return _element(array[()])


def _element(element: Any) -> str:
    value = element.item()
    if isinstance(value, float) and element.dtype.name != "float64":
        short = str(element)
        with np.errstate(over="ignore"):
            if short not in ("nan", "inf", "-inf") and element.dtype.type(float(short)) == element:
                return number(float(short))
    return number(value)


def _tree(tree: Tree) -> str:
    return _written(tree)[0]


def _inside(tree: Tree, least: int) -> str:
    text, precedence = _written(tree)
    return text if precedence >= least else f"({text})"


def _written(tree: Tree) -> tuple[str, int]:
    """The text of an expression, and how tightly its outermost operator binds."""
    match tree:
        case trees.Number(value):
            text = number(value)
            return text, _UNARY if text.startswith("-") else _ATOM
        case trees.Elements(data):
            array = data.array()
            if array.ndim == 0 and array.dtype.name in _NATURAL:
                return f"np.array({flat(nested(array))})", _ATOM
            shape = "" if array.size else f".reshape({_sizes(array.shape)})"
            return f"np.array({flat(nested(array))}, dtype={_dtype(array.dtype.name)}){shape}", _ATOM
        case trees.Call(function, arguments):
            return f"{function}({', '.join(_arguments(function, arguments))})", _ATOM
        case trees.Binary(symbol, left, right):
            own = _PRECEDENCE[symbol]
            if symbol == "**":  # binds to the right, and tighter than a minus on its left
                return f"{_inside(left, _ATOM)} ** {_inside(right, _UNARY)}", own
            return f"{_inside(left, own)} {symbol} {_inside(right, own + 1)}", own
        case trees.Negated(operand):
            return f"-{_inside(operand, _UNARY)}", _UNARY
        case trees.Cast(operand, static):
            return f"{_inside(operand, _ATOM)}.astype({_dtype(static.dtype.name)})", _ATOM
        case trees.Reshaped(operand, static):
            return f"{_inside(operand, _ATOM)}.reshape({_sizes(static.shape)})", _ATOM
        case trees.Transposed(operand, axes):
            return f"{_inside(operand, _ATOM)}.transpose({_sizes(axes)})", _ATOM


def _sizes(sizes: tuple[int, ...]) -> str:
    """Sizes one by one; none at all as an empty list, since `.reshape()` is no reshape to a scalar."""
    return ", ".join(map(str, sizes)) if sizes else "[]"


def _dtype(name: str) -> str:
    return "np.bool_" if name == "bool" else f"np.{name}"


def _arguments(function: str, arguments: tuple[tuple[str, Any], ...]) -> list[str]:
    """Required arguments by position, the others by name."""
    parameters = {parameter.name: parameter for parameter in FUNCTIONS[function].parameters}
    written = []
    for name, value in arguments:
        parameter = parameters[name]
        match parameter.kind:
            case "sizes":
                written += [str(size) for size in value]
                continue
            case "dtype":
                text = _dtype(value)
            case "shape":
                text = flat(sequence([str(size) for size in value]))
            case _:
                text = number(value)
        written.append(text if parameter.required else f"{name}={text}")
    return written
