"""Ops that the host computes between two native calls, by the NumPy reference that the language gives them.

Their tensors lie where the manifest says: in memory that the native code reads and writes too. Texts have no address,
so they are kept beside it, by slot, for the length of a call.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rlx_base.dtypes import DTYPES, STRING
from rlx_base.errors import ArtifactError, InternalError, RlxError
from rlx_ir.elements import numpy_of, reference
from rlx_ir.op import OPS, Op, make, operation
from rlx_ir.types import TensorType
from rlx_wire.manifest import HostOpSegment, HostValue

__all__ = ["HostOp", "Memory", "host_op", "steps"]

Array = NDArray[Any]
_TEXT: Final = STRING.name


@dataclass(slots=True)
class Memory:
    """What one call works on: addresses of inputs and outputs, the two blocks, and texts by region and number."""

    inputs: Sequence[int]
    outputs: Sequence[int]
    weights: NDArray[np.uint8]
    workspace: NDArray[np.uint8]
    texts: dict[tuple[str, int], Array] = field(default_factory=dict)

    def array(self, value: HostValue) -> Array:
        """The tensor, in place. Raises E310 where it does not lie within its block."""
        if value.dtype == _TEXT:
            return self.texts[value.region, value.at]
        dtype = numpy_of(DTYPES[value.dtype])
        size = math.prod(value.shape) * dtype.itemsize
        raw: Array
        match value.region:
            case "input" | "output":
                addresses = self.inputs if value.region == "input" else self.outputs
                raw = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(addresses[value.at]))
            case "weights":
                raw = self.weights[value.at : value.at + size]
            case _:
                raw = self.workspace[value.at : value.at + size]
        if raw.nbytes != size:
            raise ArtifactError("E310", expected=f"{size} bytes of {value.region} at {value.at}", found=f"{raw.nbytes}")
        placed: Array = raw.view(dtype).reshape(value.shape)
        return placed


@dataclass(frozen=True, slots=True)
class HostOp:
    """An op of the launch plan, ready to run."""

    segment: HostOpSegment
    op: Op
    types: tuple[TensorType, ...]

    def run(self, memory: Memory) -> None:
        """Computes the results and puts them into their places. Raises what the op raises; E900 for another type."""
        operands = [None if value is None else memory.array(value) for value in self.segment.operands]
        with np.errstate(all="ignore"):
            results = reference(self.op, operands, self.types)
        for value, array in zip(self.segment.results, results, strict=True):
            if array.shape != value.shape:
                raise InternalError("E900", what=f"{self.op.name} gave {array.shape} where {value.shape} is declared")
            if value.dtype == _TEXT:
                memory.texts[value.region, value.at] = array
            else:
                np.copyto(memory.array(value), array, casting="no")


def host_op(segment: HostOpSegment) -> HostOp:
    """The op of a segment. Raises E310 where this runtime does not have it, or not with these attributes."""
    try:
        kind = operation(segment.op)
        op = make(kind, segment.attributes)
    except RlxError as error:
        known = "a host op of this runtime" if segment.op not in OPS else f"attributes of {segment.op}"
        raise ArtifactError("E310", expected=known, found=f"host op {segment.op}", caused_by=error.message) from None
    return HostOp(segment, op, tuple(TensorType(value.shape, DTYPES[value.dtype]) for value in segment.results))


def steps(plan: Sequence[Any], native: Callable[[str], int]) -> tuple[int | HostOp, ...]:
    """The launch plan as what is called: addresses of native code, and host ops."""
    return tuple(host_op(part) if isinstance(part, HostOpSegment) else native(part.symbol) for part in plan)
