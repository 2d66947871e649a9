"""Operators on shapes: sizes are data here, and stay dimensions where they are not known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from rlx_base.dtypes import INT64
from rlx_compiler.onnx.registry import operator
from rlx_compiler.onnx.tensors import array_of
from rlx_compiler.onnx.translation import Call, Unsupported, Value
from rlx_ir.dims import Dim, add, floor_div, mul, sub
from rlx_ir.dims import total as elements
from rlx_ir.ops.reshape import Expand, Flatten, Reshape, Squeeze, Unsqueeze
from rlx_ir.types import TensorType

__all__ = ["on_sizes", "sizes_of"]

_ARITHMETIC: Final[dict[str, Callable[[Dim, Dim], Dim]]] = {"Add": add, "Sub": sub, "Mul": mul, "Div": floor_div}


def on_sizes(call: Call) -> Value | None:
    """Arithmetic where an operand holds dimensions that are not known; None where none does."""
    a, b = call[0], call[1]
    if a.data is None or b.data is None or (a.known is not None and b.known is not None):
        return None
    function = _ARITHMETIC[call.proto.op_type]
    pairs = np.broadcast(a.data, b.data)
    flat: list[Dim] = [function(_dim(left), _dim(right)) for left, right in pairs]
    return _sizes(flat, pairs.shape)


def _dim(value: Any) -> Dim:
    return int(value) if isinstance(value, int | np.integer) else value


def _sizes(flat: list[Dim], shape: tuple[int, ...]) -> Value:
    if all(isinstance(dim, int) for dim in flat):
        return Value(TensorType(shape, INT64), None, np.array(flat, np.int64).reshape(shape))
    data = np.empty(len(flat), object)
    data[:] = flat
    return Value(TensorType(shape, INT64), None, data.reshape(shape))


def sizes_of(data: Any) -> Value:
    """A known value of the elements of an array of dimensions."""
    return _sizes([_dim(value) for value in data.reshape(-1)], data.shape)


@operator("Constant")
def constant(call: Call) -> Value:
    for attribute in call.proto.attribute:
        value = call.attribute(attribute.name)
        match attribute.name:
            case "value":
                try:
                    return call.constant(array_of(value))
                except ValueError as why:
                    raise Unsupported(f"it holds {why}") from None
            case "value_float" | "value_floats":
                return call.constant(np.array(value, np.float32))
            case "value_string" | "value_strings":
                items = [value] if isinstance(value, str) else value
                texts = np.empty(len(items), object)
                texts[:] = [item.decode() if isinstance(item, bytes) else item for item in items]
                return call.constant(texts.reshape(() if attribute.name == "value_string" else (len(items),)))
            case "value_int" | "value_ints":
                return call.constant(np.array(value, np.int64))
    raise Unsupported("it holds a sparse tensor")


@operator("Shape")
def shape(call: Call) -> Value:
    rank = call[0].rank
    cut = slice(call.attribute("start", 0), call.attribute("end", rank))
    return call.translation.shape(call[0].type.shape[cut])


@operator("Size")
def size(call: Call) -> Value:
    return _sizes([elements(call[0].type.shape)], ())


@operator("ConstantOfShape")
def constant_of_shape(call: Call) -> Value:
    filled = call.attribute("value")
    value = np.zeros((), np.float32) if filled is None else array_of(filled).reshape(())
    declared = call.declared_shape()
    if call[0].data is None and declared is not None:
        return call.apply(Expand(declared), call.constant(value))
    sizes = tuple(call.sizes(0, "the shape"))
    if all(isinstance(size, int) for size in sizes):
        return call.constant(np.full([int(size) for size in sizes], value, value.dtype))
    return call.apply(Expand(sizes), call.constant(value))


@operator("Reshape", since=5)
def reshape(call: Call) -> Value:
    x, asked = call[0], call[1]
    if x.data is not None and x.known is None:
        return sizes_of(x.data.reshape(call.known(1, "the shape")))
    declared = call.declared_shape()
    if asked.data is None and declared is not None:
        return call.apply(Reshape(declared, allow_zero=True), x)
    return call.apply(Reshape(tuple(call.sizes(1, "the shape")), bool(call.attribute("allowzero", 0))), x)


@operator("Reshape")
def reshape_by_attribute(call: Call) -> Value:
    return call.apply(Reshape(tuple(call.attribute("shape"))), call[0])


@operator("Flatten")
def flatten(call: Call) -> Value:
    return call.apply(Flatten(call.attribute("axis", 1)), call[0])


@operator("Squeeze")
def squeeze(call: Call) -> Value:
    x, declared = call[0], call.declared_shape()
    if call.optional(1) is not None and call[1].data is None and declared is not None:
        return call.apply(Reshape(declared, allow_zero=True), x)
    axes = call.integers(1, "axes")
    if x.data is not None and x.known is None:
        return sizes_of(np.squeeze(x.data, None if axes is None else tuple(axes)))
    return call.apply(Squeeze(None if axes is None else tuple(axes)), x)


@operator("Unsqueeze")
def unsqueeze(call: Call) -> Value:
    x, declared = call[0], call.declared_shape()
    if call.optional(1) is not None and call[1].data is None and declared is not None:
        return call.apply(Reshape(declared, allow_zero=True), x)
    axes = tuple(call.integers(1, "axes") or ())
    if x.data is not None and x.known is None:
        return sizes_of(np.expand_dims(x.data, axes))
    return call.apply(Unsqueeze(axes), x)


@operator("Expand")
def expand(call: Call) -> Value:
    declared = call.declared_shape()
    if call[1].data is None and declared is not None:
        return call.apply(Expand(declared), call[0])
    return call.apply(Expand(tuple(call.sizes(1, "the shape"))), call[0])


@operator("Range")
def range_of(call: Call) -> Value:
    start, limit, step = call[0], call[1], call[2]
    if start.known is not None and limit.known is not None and step.known is not None:
        numbers = [start.known.item(), limit.known.item(), step.known.item()]
        count = max(0, int(np.ceil((numbers[1] - numbers[0]) / numbers[2])))
        dtype = start.known.dtype
        return call.constant((numbers[0] + np.arange(count) * numbers[2]).astype(dtype))
    declared = call.declared_shape()
    if declared is not None:
        from rlx_compiler.onnx.operators.placing import range_at_run_time

        return range_at_run_time(call, declared)
    raise Unsupported("its bounds are not known when the model is imported", start.inputs | limit.inputs | step.inputs)
