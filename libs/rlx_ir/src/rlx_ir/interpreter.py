"""Running a module with the NumPy reference of every op: slow, plainly right, and the oracle of every other way.

Symbolic dimensions are bound from the inputs' shapes; `specialise` gives the module with them replaced by numbers.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from rlx_base.dtypes import of_numpy
from rlx_base.errors import InternalError, RequestError
from rlx_ir.dims import Symbol
from rlx_ir.elements import reference
from rlx_ir.module import Module, Node
from rlx_ir.op import Array, nearest
from rlx_ir.ops.control import Cond
from rlx_ir.regions import RegionOp
from rlx_ir.specialise import specialise
from rlx_ir.types import TensorType

__all__ = ["as_held", "bind_dims", "run"]


def run(module: Module, inputs: Mapping[str, NDArray[np.generic]]) -> dict[str, Array]:
    """The outputs by name, for inputs by name, all in logical order.

    Raises RequestError E415 where inputs are missing, unknown, or of another dtype or shape than declared; and what the
    ops raise where symbolic dimensions, once known, do not fit.
    """
    arrays = {name: as_held(np.asarray(array)) for name, array in inputs.items()}
    dims = bind_dims(module, arrays)
    known = specialise(module, dims) if dims else module
    with np.errstate(all="ignore"):
        return _run(known, [arrays[value.name] for value in known.inputs])


def bind_dims(module: Module, inputs: Mapping[str, NDArray[np.generic]]) -> dict[str, int]:
    """The values of the symbolic dimensions, from the inputs' shapes. Raises E415 where the inputs do not fit."""

    def refuse(what: str) -> RequestError:
        declared = ", ".join(f"{value.name}: {value.type}" for value in module.inputs) or "none"
        return RequestError("E415", model=module.name, what=what, inputs=declared)

    names = [value.name for value in module.inputs]
    for name in inputs:
        if name not in names:
            raise refuse(f"{name!r} is no input{nearest(name, names)}")
    dims: dict[str, int] = {}
    for value in module.inputs:
        if value.name not in inputs:
            raise refuse(f"input {value.name!r} is missing")
        given = inputs[value.name]
        if _dtype_name(given) != value.tensor.dtype.name or given.ndim != value.tensor.rank:
            raise refuse(f"input {value.name!r} is {_described(given)}, where {value.type} is declared")
        for dim, size in zip(value.tensor.shape, given.shape, strict=True):
            if isinstance(dim, Symbol) and dims.setdefault(dim.name, size) != size:
                raise refuse(f"{dim} is {dims[dim.name]}, and {size} in input {value.name!r}")
    for value in module.inputs:
        given = inputs[value.name]
        if value.tensor.bind(dims).shape != given.shape:
            raise refuse(f"input {value.name!r} is {_described(given)}, where {value.type} is declared")
    return dims


def as_held(array: Array) -> Array:
    """Texts as an array of objects: NumPy's own text arrays have room for so many letters only."""
    return array.astype(object) if array.dtype.kind == "U" else array


def _dtype_name(array: Array) -> str:
    return "string" if array.dtype.kind in "OU" else str(array.dtype)


def _described(array: Array) -> str:
    return f"{_dtype_name(array)}[{', '.join(map(str, array.shape))}]"


def _run(module: Module, inputs: list[Array]) -> dict[str, Array]:
    values: dict[str, Array] = {value.name: array for value, array in zip(module.inputs, inputs, strict=True)}
    values |= {constant.name: np.asarray(constant.array()) for constant in module.constants}
    for node in module.nodes:
        operands = [None if name is None else values[name] for name in node.operands]
        for result, array in zip(node.results, _results(node, operands), strict=True):
            _check_result(node, result.tensor, array)
            values[result.name] = array
    return {output.name: values[output.value] for output in module.outputs}


def _results(node: Node, operands: list[Array | None]) -> tuple[Array, ...]:
    if not isinstance(node.op, RegionOp):
        return reference(node.op, operands, [result.tensor for result in node.results])
    given = [operand for operand in operands if operand is not None]
    if isinstance(node.op, Cond):
        chosen = node.regions[0] if given[0].item() else node.regions[1]
        return tuple(_run(chosen, given[1:]).values())
    return tuple(_run(node.regions[0], given).values())


def _check_result(node: Node, type: TensorType, array: Array) -> None:
    """That the reference gives what `infer` said: the two are written apart."""
    if array.shape != type.shape or of_numpy(array.dtype) != type.dtype:
        raise InternalError("E900", what=f"{node.op.name} gave {_described(array)} where its type is {type}")
