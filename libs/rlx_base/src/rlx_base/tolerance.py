"""How close two results must be to count as equal: one policy per dtype, used by every comparison in RLX."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rlx_base.dtypes import DType, of_numpy

__all__ = ["POLICY", "Tolerance", "difference", "mismatch"]


@dataclass(frozen=True, slots=True)
class Tolerance:
    """`|actual − expected| ≤ absolute + relative · max|expected|`, element by element; non-finite values must be equal.

    The relative part is taken from the largest finite magnitude of the expected tensor, since a sum's rounding
    error follows its largest terms and not its (possibly cancelled) result.
    """

    relative: float
    absolute: float


POLICY: Final[dict[str, Tolerance]] = {
    "float64": Tolerance(1e-12, 1e-14),
    "float32": Tolerance(1e-5, 1e-7),
    "float16": Tolerance(4e-3, 1e-5),
    "bfloat16": Tolerance(3e-2, 1e-4),
}
_EXACT: Final = Tolerance(0.0, 0.0)


def tolerance_of(dtype: DType) -> Tolerance:
    """The policy of a dtype; integers and bool are exact."""
    return POLICY.get(dtype.name, _EXACT)


def difference(actual: NDArray[np.generic], expected: NDArray[np.generic]) -> float:
    """max|actual − expected| ÷ max|expected| over the finite elements; 0 for empty tensors.

    inf where the shapes or the non-finite elements differ.
    """
    a, e = np.asarray(actual, np.float64), np.asarray(expected, np.float64)
    if a.shape != e.shape:
        return float("inf")
    finite = np.isfinite(e)
    if not np.array_equal(a[~finite], e[~finite], equal_nan=True) or not np.isfinite(a[finite]).all():
        return float("inf")
    if not finite.any():
        return 0.0
    scale = float(np.abs(e[finite]).max())
    worst = float(np.abs(a[finite] - e[finite]).max())
    return worst / scale if scale > 0 else worst


def mismatch(
    actual: NDArray[np.generic], expected: NDArray[np.generic], tolerance: Tolerance | None = None
) -> str | None:
    """None where the two are equal within the expected dtype's policy; otherwise one line that says how they differ."""
    if actual.shape != expected.shape:
        return f"shape {actual.shape} instead of {expected.shape}"
    if actual.dtype != expected.dtype:
        return f"dtype {actual.dtype} instead of {expected.dtype}"
    if expected.size == 0:
        return None
    dtype = of_numpy(expected.dtype)
    limit = tolerance if tolerance is not None else tolerance_of(dtype)
    if not dtype.is_float:
        wrong = np.asarray(actual != expected)
    else:
        a, e = actual.astype(np.float64), expected.astype(np.float64)
        finite = np.isfinite(e)
        scale = float(np.abs(e[finite]).max()) if finite.any() else 0.0
        with np.errstate(invalid="ignore"):
            close = np.abs(a - e) <= limit.absolute + limit.relative * scale
        same = (a == e) | (np.isnan(a) & np.isnan(e))
        wrong = ~np.where(finite, close & np.isfinite(a), same)
    if not wrong.any():
        return None
    first = tuple(int(i) for i in np.argwhere(wrong)[0])
    return (
        f"{int(wrong.sum())} of {wrong.size} elements differ; at {first}: "
        f"{actual[first]!r} instead of {expected[first]!r}"
    )
