"""The element types of RLX and how NumPy holds them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

__all__ = ["BOOL", "DTYPES", "FLOAT32", "FLOAT64", "INDEX", "INT32", "INT64", "DType", "Kind", "of_numpy"]

Kind = Literal["float", "int", "uint", "bool"]


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
        DType("bfloat16", "float", 16, None),
        DType("int4", "int", 4, None),
        DType("uint4", "uint", 4, None),
        DType("float8_e4m3fn", "float", 8, None),
        DType("float8_e5m2", "float", 8, None),
        # Known to the interpreter alone, for models that store numbers so.
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
# Loop counters and addresses are 64 bits wide on every target.
INDEX: Final = INT64


def of_numpy(dtype: np.dtype[np.generic]) -> DType:
    """The RLX type of a NumPy dtype. Raises KeyError for one that RLX does not have (complex, object, …)."""
    return DTYPES[np.dtype(dtype).newbyteorder("=").name]
