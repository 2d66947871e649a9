"""What the languages of the C family spell differently, as data. Today there is C11 with GNU vectors.

GNU vectors are values: locals and expressions, never parameters or results, so no calling convention depends on
them. A program that was lowered without vectors (`c:x86-64`) is plain C11.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from rlx_base.dtypes import BOOL, DTYPES, DType
from rlx_base.errors import InternalError
from rlx_compiler.emit.numbers import float_bits, nearest, wrapped

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
    prefetch: str

    def scalar(self, dtype: DType) -> str:
        held = dtype.bits_held
        if held.name not in self.types:
            raise InternalError("E900", what=f"no code for {dtype}")
        return self.types[held.name]

    def number(self, value: bool | int | float, dtype: DType) -> str:
        """A constant, exact."""
        if dtype.name == "float16":
            return str(float_bits(float(value), dtype))
        if dtype.is_float:
            return self._float(float(value), dtype)
        if dtype == BOOL:
            return "1" if value else "0"
        return _integer(int(value), dtype)

    def _float(self, value: float, dtype: DType) -> str:
        value = nearest(value, dtype)
        if math.isnan(value):
            return self.not_a_number[dtype.name]
        size, suffix = abs(value), "f" if dtype.bits == 32 else ""
        if math.isinf(value):
            text = self.infinity[dtype.name]
        elif size * 2 == round(size * 2) < 1e6:
            # Whole numbers and halves read better as decimals, and are exact in them.
            text = f"{size!r}{suffix}"
        else:
            text = f"{size.hex()}{suffix}"
        return f"(-{text})" if math.copysign(1.0, value) < 0 else text


def _integer(value: int, dtype: DType) -> str:
    """Small ones as they are; the others with their width, since a plain one may be an int."""
    value = wrapped(value, dtype)
    if dtype.kind == "uint" and dtype.bits >= 32:
        return f"UINT{dtype.bits}_C({value})"
    if value == -(2**63):
        return "INT64_MIN"
    text = str(abs(value)) if abs(value) < 2**31 else f"INT64_C({abs(value)})"
    return f"(-{text})" if value < 0 else text


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
    # The address as a number, since one behind the end of an array may not be computed as a pointer.
    prefetch="__builtin_prefetch((const void *)((uintptr_t){name} + sizeof(*{name}) * (uintptr_t)({index})), 0, 2);",
)
