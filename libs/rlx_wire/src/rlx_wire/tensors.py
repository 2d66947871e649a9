"""Tensors as they travel in JSON: a dtype's name, a shape, and the elements as numbers or as base64.

The bytes behind `b64` are little-endian and row-major. The names of the Open Inference Protocol (`FP32`,
`INT64` …) stand beside RLX's own (`float32`, `int64` …) in one table.
"""

from __future__ import annotations

import base64
import binascii
import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, model_validator

from rlx_base.dtypes import DTYPES, of_numpy
from rlx_base.errors import RequestError
from rlx_wire.scalars import Count

__all__ = ["DATATYPES", "Array", "Shape", "Tensor", "array_of", "datatype_of", "dtype_of"]

Array = NDArray[np.generic]
Shape = tuple[Count, ...]

DATATYPES: Final[dict[str, str]] = {
    "BOOL": "bool",
    **{f"INT{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"UINT{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
    "FP16": "float16",
    "BF16": "bfloat16",
    "FP32": "float32",
    "FP64": "float64",
    "BYTES": "string",
}
"""The protocol's datatypes and the dtypes of RLX that they name."""

_NAMES: Final = {dtype: datatype for datatype, dtype in DATATYPES.items()}


def datatype_of(dtype: str) -> str:
    """The protocol's name of an RLX dtype. Raises E410 for one that the protocol cannot name."""
    if dtype not in _NAMES:
        raise RequestError("E410", dtype=dtype, known=", ".join(DATATYPES))
    return _NAMES[dtype]


def dtype_of(datatype: str) -> str:
    """The RLX dtype that the protocol's name stands for. Raises E410."""
    if datatype not in DATATYPES:
        raise RequestError("E410", dtype=datatype, known=", ".join(DATATYPES))
    return DATATYPES[datatype]


def array_of(name: str, dtype: str, shape: Shape, data: Any) -> Array:
    """The elements of a JSON list, flat or nested in the tensor's shape. Raises E410 or E411."""
    wanted = _numpy(dtype)
    try:
        given = np.asarray(data)
        if given.size and given.dtype.kind not in "biuf":
            raise ValueError("its elements are not numbers of one rectangular list")
        with np.errstate(over="ignore", invalid="ignore"):
            values = np.asarray(data, wanted)
        if wanted.kind in "biu" and not np.array_equal(values, given):
            raise ValueError("an element is not one of its values")
    except (ValueError, TypeError, OverflowError) as error:
        raise RequestError("E411", name=name, what=f"cannot be read as {dtype}: {error}") from error
    if values.size != math.prod(shape) or (values.ndim > 1 and values.shape != shape):
        what = f"has shape {list(values.shape)} in its data, but {list(shape)} declared"
        raise RequestError("E411", name=name, what=what)
    return _shaped(name, values, shape)


def _shaped(name: str, values: Array, shape: Shape) -> Array:
    """Raises E411 for a shape that no array can have: too many dimensions, or an empty one with a huge size."""
    try:
        return values.reshape(shape)
    except (ValueError, OverflowError) as error:
        raise RequestError("E411", name=name, what=f"cannot have its shape: {error}") from error


def _numpy(dtype: str) -> np.dtype[np.generic]:
    known = DTYPES.get(dtype)
    if known is None or known.numpy is None or known.kind == "text":
        held = [d.name for d in DTYPES.values() if d.numpy is not None and d.kind != "text"]
        raise RequestError("E410", dtype=dtype, known=", ".join(held))
    return known.numpy


class Tensor(BaseModel):
    """A tensor in RLX's own requests: `{dtype, shape, data | b64}`, one of the two."""

    model_config = ConfigDict(extra="forbid")

    dtype: str
    shape: Shape
    data: Any = None
    b64: str | None = None

    @model_validator(mode="after")
    def _one_form(self) -> Tensor:
        if (self.data is None) == (self.b64 is None):
            raise ValueError("give exactly one of data and b64")
        return self

    @classmethod
    def encode(cls, array: Array) -> Tensor:
        """A tensor in base64: exact, and small beside a list of numbers."""
        little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        text = base64.b64encode(little.tobytes()).decode("ascii")
        return cls(dtype=of_numpy(array.dtype).name, shape=array.shape, b64=text)

    @classmethod
    def listed(cls, array: Array) -> Tensor:
        """A tensor as a flat list of numbers; where JSON has no number for an element (NaN, ∞), base64 after
        all.
        """
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            return cls.encode(array)
        return cls(dtype=of_numpy(array.dtype).name, shape=array.shape, data=array.ravel().tolist())

    def array(self, name: str) -> Array:
        """The tensor as NumPy holds it. `name` is for the error: E410 for its dtype, E411 for its elements."""
        if self.b64 is None:
            return array_of(name, self.dtype, self.shape, self.data)
        dtype = _numpy(self.dtype).newbyteorder("<")
        try:
            raw = base64.b64decode(self.b64, validate=True)
        except (binascii.Error, ValueError) as error:
            raise RequestError("E411", name=name, what=f"is not base64: {error}") from error
        expected = math.prod(self.shape) * dtype.itemsize
        if len(raw) != expected:
            what = f"has {len(raw)} bytes, but {self.dtype} {list(self.shape)} takes {expected}"
            raise RequestError("E411", name=name, what=what)
        if dtype.kind == "b" and raw.strip(b"\x00\x01"):
            raise RequestError("E411", name=name, what="holds bytes other than 0 and 1 for bool")
        values = np.frombuffer(raw, dtype).astype(dtype.newbyteorder("="), copy=False)
        return _shaped(name, values, self.shape)
