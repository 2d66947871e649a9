"""How LLVM writes the element types and constants of the loop IR."""

from __future__ import annotations

import struct
from typing import Final

from rlx_base.dtypes import BOOL, DType
from rlx_base.errors import InternalError

__all__ = ["constant", "memory_type", "value_type"]

_SCALARS: Final = {"float16": "half", "float32": "float", "float64": "double", "bool": "i1"}


def _scalar(dtype: DType) -> str:
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
    """A scalar constant. Floats are written by their bits, so nothing is lost."""
    match dtype.name:
        case "bool":
            return "true" if value else "false"
        case "float64":
            return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
        case "float32":
            return f"0x{struct.unpack('<Q', struct.pack('<d', _rounded(value)))[0]:016X}"
        case "float16":
            return f"0xH{struct.unpack('<H', _half_bytes(float(value)))[0]:04X}"
    bits = dtype.bits
    wrapped = int(value) & ((1 << bits) - 1)
    return str(wrapped - (1 << bits) if wrapped >> (bits - 1) else wrapped)


def _rounded(value: float) -> float:
    """The nearest float32; beyond the largest, infinity."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _half_bytes(value: float) -> bytes:
    try:
        return struct.pack("<e", value)
    except OverflowError:
        return struct.pack("<e", float("inf") if value > 0 else float("-inf"))
