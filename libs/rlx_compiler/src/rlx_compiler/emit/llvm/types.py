"""How LLVM writes the element types and constants of the loop IR."""

from __future__ import annotations

from typing import Final

from rlx_base.dtypes import BOOL, FLOAT64, DType
from rlx_base.errors import InternalError
from rlx_compiler.emit.numbers import float_bits, nearest, wrapped

__all__ = ["constant", "memory_type", "value_type"]

_SCALARS: Final = {"float16": "half", "float32": "float", "float64": "double", "bool": "i1"}


def _scalar(dtype: DType) -> str:
    dtype = dtype.bits_held
    if dtype.is_integer:
        return f"i{dtype.bits}"
    if dtype.name not in _SCALARS:
        raise InternalError("E900", what=f"no code for {dtype}")
    return _SCALARS[dtype.name]


def _vector(scalar: str, lanes: int) -> str:
    return scalar if lanes == 1 else f"<{lanes} x {scalar}>"


def value_type(dtype: DType, lanes: int = 1) -> str:
    """The type of a value; a truth value is one bit."""
    return _vector(_scalar(dtype), lanes)


def memory_type(dtype: DType, lanes: int = 1) -> str:
    """The type in memory; a bool is a byte."""
    return _vector("i8" if dtype == BOOL else _scalar(dtype), lanes)


def constant(value: bool | int | float, dtype: DType) -> str:
    """A scalar constant. Floats are written by their bits; LLVM writes a float32 as the float64 that it equals."""
    if dtype == BOOL:
        return "true" if value else "false"
    if dtype.name == "float16":
        return f"0xH{float_bits(float(value), dtype):04X}"
    if dtype.is_float:
        return f"0x{float_bits(nearest(float(value), dtype), FLOAT64):016X}"
    return str(wrapped(int(value), dtype))
