"""A whole compiled module in the loop IR: its kernels, the plan that launches them, and where every buffer lives.

The emitters turn a `Program` into `rlx_main`: for each launch in order, check for cancellation, call the kernel with
the addresses of its arguments, and meet at a barrier.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal as Choice

import numpy as np
from numpy.typing import NDArray

from rlx_base.dtypes import DType
from rlx_compiler.loops.ir import Kernel
from rlx_ir.dims import Shape

__all__ = ["Argument", "Launch", "PackedArray", "Port", "Program", "Region"]

Region = Choice["input", "output", "weights", "workspace", "state"]


@dataclass(frozen=True, slots=True)
class Argument:
    """An address: `inputs[position]`, `outputs[position]`, or `position` bytes into weights, workspace or state."""

    region: Region
    position: int


@dataclass(frozen=True, slots=True)
class Launch:
    """One step of the plan: a kernel with its arguments, in the order of `Kernel.params`.

    `name` is unique in the program (profiles and the manifest show it), `kernel` names the function, `ops` are the
    names of the ops that it computes, in order; flops and bytes are what one launch does and moves.
    """

    name: str
    kernel: str
    arguments: tuple[Argument, ...]
    ops: tuple[str, ...]
    flops: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output of the program, row-major over its logical shape."""

    name: str
    dtype: DType
    shape: Shape


@dataclass(frozen=True, slots=True, eq=False)
class PackedArray:
    """A constant in the order that its kernels read, at `offset` bytes (a multiple of 64) in the weights."""

    name: str
    offset: int
    elements: NDArray[np.generic]


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """What an emitter gets. `kernels` holds each function once (prepared: no unrolled loops, linear indices);
    `dims` names the symbolic dimensions in the order of `rlx_call.dims`."""

    name: str
    kernels: tuple[Kernel, ...]
    launches: tuple[Launch, ...]
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    weights: tuple[PackedArray, ...]
    weights_bytes: int
    workspace_bytes: int
    dims: tuple[str, ...] = ()

    def weights_blob(self) -> bytes:
        """`weights.bin`: the packed arrays at their offsets, zeros between."""
        blob = bytearray(self.weights_bytes)
        for array in self.weights:
            data = array.elements.tobytes()
            blob[array.offset : array.offset + len(data)] = data
        return bytes(blob)
