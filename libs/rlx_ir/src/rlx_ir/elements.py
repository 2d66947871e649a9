"""Arrays of every element type, and ops over those that NumPy alone cannot hold (bfloat16, float8, int4, …).

Such a type is for storage: an op computes in the next wider type that NumPy has, and its result is rounded once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import ml_dtypes  # registers its types with NumPy by name
import numpy as np

from rlx_base.dtypes import DType, of_numpy
from rlx_ir.op import Array, Op
from rlx_ir.types import TensorType

__all__ = ["EXTENDED", "numpy_of", "reference", "widened"]

_WIDE: Final[dict[str, np.dtype[Any]]] = {
    "float": np.dtype(np.float32),
    "int": np.dtype(np.int8),
    "uint": np.dtype(np.uint8),
}
EXTENDED: Final = frozenset(
    np.dtype(getattr(ml_dtypes, name)).name
    for name in (
        *("bfloat16", "int2", "int4", "uint2", "uint4", "float4_e2m1fn", "float8_e8m0fnu"),
        *("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"),
    )
)


def numpy_of(dtype: DType) -> np.dtype[np.generic]:
    """The NumPy dtype of an element type."""
    return dtype.numpy if dtype.numpy is not None else np.dtype(dtype.name)


def reference(op: Op, operands: Sequence[Array | None], types: Sequence[TensorType]) -> tuple[Array, ...]:
    """What the op gives by NumPy; `types` are those of its results."""
    if not any(array is not None and array.dtype.name in EXTENDED for array in operands):
        return op.reference(*operands)
    results = op.reference(*(None if array is None else widened(array) for array in operands))
    return tuple(
        np.asarray(result if result.dtype == numpy_of(type.dtype) else result.astype(numpy_of(type.dtype)))
        for result, type in zip(results, types, strict=True)
    )


def widened(array: Array) -> Array:
    """The elements in the type that they are computed in."""
    return array if array.dtype.name not in EXTENDED else array.astype(_WIDE[of_numpy(array.dtype).kind])
