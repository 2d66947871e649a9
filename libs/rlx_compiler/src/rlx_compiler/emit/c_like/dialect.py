"""What the languages of the C family spell differently, as data. Today there is C11 with GNU vectors.

GNU vectors are values: locals and expressions, never parameters or results, so no calling convention depends on
them. A program that was lowered without vectors (`c:x86-64`) is plain C11.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from rlx_base.dtypes import BOOL, DTYPES, DType
from rlx_base.errors import InternalError

__all__ = ["C11", "Dialect", "padded"]


@dataclass(frozen=True, slots=True)
class Dialect:
    """`types` by name of dtype, as values and in memory alike; `functions` by name and dtype; `kernel` and `function`
    are headers with {name}, {result} and {parameters}; `parameter` a buffer's with {type}, {name}, {qualifier}."""

    types: Mapping[str, str]
    functions: Mapping[tuple[str, str], str]
    infinity: Mapping[str, str]
    not_a_number: Mapping[str, str]
    kernel: str
    function: str
    parameter: str
    constant: str
    aligned_local: str

    def scalar(self, dtype: DType) -> str:
        if dtype.name not in self.types:
            raise InternalError("E900", what=f"no code for {dtype}")
        return self.types[dtype.name]

    def number(self, value: bool | int | float, dtype: DType) -> str:
        """A constant, exact."""
        if dtype.name == "float16":
            return str(struct.unpack("<H", struct.pack("<e", value))[0])
        if dtype.is_float:
            return self._float(float(value), dtype)
        if dtype == BOOL:
            return "1" if value else "0"
        return _integer(int(value), dtype)

    def _float(self, value: float, dtype: DType) -> str:
        if dtype.bits == 32 and math.isfinite(value):
            try:
                value = struct.unpack("<f", struct.pack("<f", value))[0]
            except OverflowError:
                value = math.copysign(math.inf, value)
        if math.isnan(value):
            return self.not_a_number[dtype.name]
        suffix = "f" if dtype.bits == 32 else ""
        if math.isinf(value):
            text = self.infinity[dtype.name]
        else:
            # Short decimals stay decimals: whole numbers and halves are exact in both.
            text = f"{abs(value)!r}{suffix}" if value * 2 == round(value * 2) < 1e6 else f"{abs(value).hex()}{suffix}"
        return f"(-{text})" if math.copysign(1.0, value) < 0 else text


def _integer(value: int, dtype: DType) -> str:
    """Small ones as they are; the others with their width, since a plain one may be an int."""
    wrapped = value & ((1 << dtype.bits) - 1)
    if dtype.kind == "int" and wrapped >> (dtype.bits - 1):
        wrapped -= 1 << dtype.bits
    if dtype.kind == "uint" and dtype.bits >= 32:
        return f"UINT{dtype.bits}_C({wrapped})"
    if abs(wrapped) < 2**31:
        return f"({wrapped})" if wrapped < 0 else str(wrapped)
    if wrapped == -(2**63):
        return "INT64_MIN"
    text = f"INT64_C({abs(wrapped)})"
    return f"(-{text})" if wrapped < 0 else text


def padded(lanes: int) -> int:
    """The lanes of the register that holds so many: GNU vectors come in powers of two."""
    return 1 << (lanes - 1).bit_length()


C11: Final = Dialect(
    types={
        "float16": "uint16_t",
        "float32": "float",
        "float64": "double",
        "bool": "uint8_t",
        **{name: f"{name}_t" for name, dtype in DTYPES.items() if dtype.is_integer and dtype.bits >= 8},
    },
    functions={
        ("sqrt", "float32"): "__builtin_sqrtf",
        ("sqrt", "float64"): "__builtin_sqrt",
        ("abs", "float32"): "__builtin_fabsf",
        ("abs", "float64"): "__builtin_fabs",
    },
    infinity={"float32": "__builtin_inff()", "float64": "__builtin_inf()"},
    not_a_number={"float32": '__builtin_nanf("")', "float64": '__builtin_nan("")'},
    kernel="static __attribute__((noinline)) void {name}({parameters})",
    function="static {result} {name}({parameters})",
    parameter="{qualifier}{type} *restrict {name}",
    constant="const ",
    aligned_local="{type} {name}[{count}] __attribute__((aligned(64)));",
)
