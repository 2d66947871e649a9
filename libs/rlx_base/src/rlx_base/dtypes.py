"""The element types of RLX and how NumPy holds them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

__all__ = ["BOOL", "DTYPES", "FLOAT32", "FLOAT64", "INDEX", "INT32", "INT64", "STRING", "DType", "Kind", "of_numpy"]

Kind = Literal["float", "int", "uint", "bool", "text"]


@dataclass(frozen=True, slots=True)
class DType:
    """An element type. `numpy` is None for a type that is known by name but that NumPy alone cannot hold."""

    name: str
    kind: Kind
    bits: int
    numpy: np.dtype[np.generic] | None

    @property
    def itemsize(self) -> int:
        """Bytes that one element takes in memory (at least one)."""
        return max(1, self.bits // 8)

    @property
    def bits_held(self) -> DType:
        """The dtype of its bits in memory, one element after the other: for all but what NumPy has, an integer."""
        if self.numpy is not None:
            return self
        return DTYPES[f"{'int' if self.kind == 'int' else 'uint'}{8 * self.itemsize}"]

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def is_integer(self) -> bool:
        return self.kind in ("int", "uint")

    def __str__(self) -> str:
        return self.name


def _numpy(name: str, kind: Kind, bits: int) -> DType:
    return DType(name, kind, bits, np.dtype(name))


DTYPES: Final[dict[str, DType]] = {
    d.name: d
    for d in (
        *(_numpy(f"float{b}", "float", b) for b in (16, 32, 64)),
        *(_numpy(f"int{b}", "int", b) for b in (8, 16, 32, 64)),
        *(_numpy(f"uint{b}", "uint", b) for b in (8, 16, 32, 64)),
        _numpy("bool", "bool", 8),
        # An array of `str` objects, for the host alone: no kernel holds texts.
        DType("string", "text", 64, np.dtype(object)),
        DType("bfloat16", "float", 16, None),
        DType("int4", "int", 4, None),
        DType("uint4", "uint", 4, None),
        DType("float8_e4m3fn", "float", 8, None),
        DType("float8_e5m2", "float", 8, None),
        DType("int2", "int", 2, None),
        DType("uint2", "uint", 2, None),
        DType("float8_e4m3fnuz", "float", 8, None),
        DType("float8_e5m2fnuz", "float", 8, None),
        DType("float8_e8m0fnu", "float", 8, None),
        DType("float4_e2m1fn", "float", 4, None),
    )
}

FLOAT32: Final = DTYPES["float32"]
FLOAT64: Final = DTYPES["float64"]
INT32: Final = DTYPES["int32"]
INT64: Final = DTYPES["int64"]
BOOL: Final = DTYPES["bool"]
STRING: Final = DTYPES["string"]
# Loop counters and addresses are 64 bits wide on every target.
INDEX: Final = INT64


def of_numpy(dtype: np.dtype[np.generic]) -> DType:
    """The RLX type of a NumPy dtype. Raises KeyError for one that RLX does not have (complex, dates, …)."""
    if dtype.kind in "OU":
        return STRING
    return DTYPES[np.dtype(dtype).newbyteorder("=").name]
