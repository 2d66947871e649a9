"""Tensors and types of ONNX as ours."""

from __future__ import annotations

import re
from typing import Any, Final

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, numpy_helper

from rlx_base.dtypes import DTYPES, DType
from rlx_ir.dims import Dim, Symbol
from rlx_ir.types import TensorType

__all__ = ["array_of", "dtype_of", "element_type", "tensor_type", "type_proto"]

_DTYPES: Final[dict[int, str]] = {
    TensorProto.FLOAT: "float32",
    TensorProto.DOUBLE: "float64",
    TensorProto.FLOAT16: "float16",
    TensorProto.BFLOAT16: "bfloat16",
    TensorProto.BOOL: "bool",
    TensorProto.STRING: "string",
    **{getattr(TensorProto, f"INT{bits}"): f"int{bits}" for bits in (2, 4, 8, 16, 32, 64)},
    **{getattr(TensorProto, f"UINT{bits}"): f"uint{bits}" for bits in (2, 4, 8, 16, 32, 64)},
    TensorProto.FLOAT8E4M3FN: "float8_e4m3fn",
    TensorProto.FLOAT8E4M3FNUZ: "float8_e4m3fnuz",
    TensorProto.FLOAT8E5M2: "float8_e5m2",
    TensorProto.FLOAT8E5M2FNUZ: "float8_e5m2fnuz",
    TensorProto.FLOAT8E8M0: "float8_e8m0fnu",
    TensorProto.FLOAT4E2M1: "float4_e2m1fn",
}
_ELEMENTS: Final = {name: number for number, name in _DTYPES.items()}


def dtype_of(element: int) -> DType:
    """The element type of this number. Raises ValueError for one that RLX cannot hold."""
    name = _DTYPES.get(element)
    if name is None:
        raise ValueError(f"elements of type {TensorProto.DataType.Name(element)}")
    return DTYPES[name]


def element_type(dtype: DType) -> int:
    """ONNX's number of an element type."""
    return _ELEMENTS[dtype.name]


def array_of(tensor: onnx.TensorProto) -> NDArray[Any]:
    """The elements of a tensor. Raises ValueError for a type that RLX cannot hold."""
    dtype_of(tensor.data_type)
    array = np.asarray(numpy_helper.to_array(tensor))
    if tensor.data_type != TensorProto.STRING:
        return array
    texts = np.empty(array.size, object)
    texts[:] = [text.decode() if isinstance(text, bytes) else text for text in array.reshape(-1).tolist()]
    return texts.reshape(array.shape)


def tensor_type(type: onnx.TypeProto, name: str) -> TensorType:
    """A declared type; a dimension without size or name is named after the tensor. Raises ValueError for others.

    Exporters write an unknown size as nothing, as −1 or as "?"; none of these says that two sizes are the same.
    """
    if not type.HasField("tensor_type"):
        raise ValueError(f"a {type.WhichOneof('value') or 'value without a type'}")
    if not type.tensor_type.HasField("shape"):
        raise ValueError("a tensor of unknown rank")
    shape: list[Dim] = []
    for place, dim in enumerate(type.tensor_type.shape.dim):
        if dim.HasField("dim_value") and dim.dim_value >= 0:
            shape.append(dim.dim_value)
        else:
            shape.append(Symbol(_dimension(dim.dim_param) or f"{_identifier(name)}_{place}"))
    return TensorType(tuple(shape), dtype_of(type.tensor_type.elem_type))


def _dimension(text: str) -> str:
    """The name of a dimension, where it is one."""
    return _identifier(text) if any(character.isalnum() for character in text) else ""


def _identifier(text: str) -> str:
    name = re.sub(r"\W", "_", text, flags=re.ASCII)[:60]
    return f"d{name}" if name[:1].isdigit() else name


def type_proto(type: TensorType) -> onnx.TypeProto:
    """The type as ONNX writes it; unknown dimensions stay open."""
    sizes = [size if isinstance(size, int) else None for size in type.shape]
    return onnx.helper.make_tensor_type_proto(element_type(type.dtype), sizes)
