"""Strategies of shapes and arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from rlx_base.dtypes import DTYPES, DType
from rlx_ir.elements import numpy_of
from rlx_ir.op import Array

__all__ = ["DEFAULT_DTYPES", "FLOATS", "array", "broadcastable", "choose", "pick", "shapes", "sizes"]

DEFAULT_DTYPES: Final[tuple[DType, ...]] = tuple(
    DTYPES[name]
    for name in (
        *("float32", "float64", "int32", "int64", "bool"),
        *("int8", "uint8", "int16", "uint16", "uint32", "uint64"),
    )
)
FLOATS: Final = ("float",)

_SPECIAL: Final = (0.0, -0.0, np.inf, -np.inf, np.nan)
# Mostly small, sometimes longer than a vector, now and then nothing; smaller cases come first, for shrinking.
_SIZES: Final = (1, 2, 3, 1, 2, 3, 4, 5, 7, 8, 1, 2, 3, 17, 4, 5, 0)


def sizes(most: int = 17, least: int = 0) -> st.SearchStrategy[int]:
    """The size of a dimension."""
    return st.sampled_from([size for size in _SIZES if least <= size <= most])


def shapes(
    least_rank: int = 0, most_rank: int = 4, most: int = 17, least: int = 0
) -> st.SearchStrategy[tuple[int, ...]]:
    """A shape of some rank."""
    return st.lists(sizes(most, least), min_size=least_rank, max_size=most_rank).map(tuple)


def pick(dtypes: Sequence[DType], kinds: Sequence[str]) -> list[DType]:
    """Those of the wanted dtypes that an op takes; float32 where it takes none of them but floats."""
    return [dtype for dtype in dtypes if dtype.kind in kinds] or [
        DTYPES["float32" if "float" in kinds else "int64" if "int" in kinds else "bool"]
    ]


def choose(draw: DrawFn, dtypes: Sequence[DType], kinds: Sequence[str] = FLOATS) -> DType:
    """One dtype that the op takes."""
    return draw(st.sampled_from(pick(dtypes, kinds)))


def array(
    draw: DrawFn,
    shape: Sequence[int],
    dtype: DType,
    low: float = -4.0,
    high: float = 4.0,
    special: bool = False,
) -> Array:
    """Elements from a drawn seed: floats in low … high, with zeros, infinities and NaN among them if `special`;
    integers mostly small, at times of the dtype's whole range."""
    random = np.random.RandomState(draw(st.integers(0, 2**32 - 1)))
    numpy = numpy_of(dtype)
    if dtype.kind == "bool":
        return random.randint(0, 2, shape).astype(bool)
    if dtype.is_integer:
        if special and draw(st.booleans()):
            count = math.prod(shape) * dtype.itemsize
            return np.frombuffer(random.bytes(count), numpy).reshape(shape).copy()
        return random.randint(max(int(low), 0 if dtype.kind == "uint" else -128), int(high) + 1, shape).astype(numpy)
    elements: Any = np.asarray(random.uniform(low, high, shape))
    if special and elements.size and draw(st.booleans()):
        count = draw(st.integers(1, 3))
        elements.reshape(-1)[random.randint(0, elements.size, count)] = random.choice(_SPECIAL, count)
    return np.asarray(elements.astype(numpy))


def broadcastable(draw: DrawFn, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape that broadcasts to `shape`: some leading dimensions left out, some others 1."""
    kept = shape[draw(st.integers(0, len(shape))) :] if draw(st.booleans()) else shape
    ones = draw(st.lists(st.booleans(), min_size=len(kept), max_size=len(kept)))
    return tuple(1 if one else size for one, size in zip(ones, kept, strict=True))
