"""Constants as the bits that a dtype holds them in: nothing is left to how a target's compiler reads decimals."""

from __future__ import annotations

import math
import struct
from typing import Final

from rlx_base.dtypes import DType

__all__ = ["float_bits", "nearest", "wrapped"]

_FORMATS: Final = {"float16": ("<e", "<H"), "float32": ("<f", "<I"), "float64": ("<d", "<Q")}


def _packed(value: float, dtype: DType) -> bytes:
    """To nearest even; beyond the largest number, infinity."""
    code = _FORMATS[dtype.name][0]
    try:
        return struct.pack(code, value)
    except OverflowError:
        return struct.pack(code, math.copysign(math.inf, value))


def float_bits(value: float, dtype: DType) -> int:
    """The bits of the nearest number."""
    bits: int = struct.unpack(_FORMATS[dtype.name][1], _packed(value, dtype))[0]
    return bits


def nearest(value: float, dtype: DType) -> float:
    """The nearest number that the dtype has."""
    number: float = struct.unpack(_FORMATS[dtype.name][0], _packed(value, dtype))[0]
    return number


def wrapped(value: int, dtype: DType) -> int:
    """The number that the lowest bits of a whole number are in an integer dtype."""
    low = value & ((1 << dtype.bits) - 1)
    return low - (1 << dtype.bits) if dtype.kind == "int" and low >> (dtype.bits - 1) else low
