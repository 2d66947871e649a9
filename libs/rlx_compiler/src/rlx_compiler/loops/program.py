"""A whole compiled module in the loop IR: its kernels, the plan that launches them, and where every buffer lives.

The emitters turn a `Program` into `rlx_main`: for each launch in order, check for cancellation, call the kernel with
the addresses of its arguments, and meet at a barrier. Where host ops stand between launches, each stretch of launches
is a function of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from typing import Literal as Choice

import numpy as np
from numpy.typing import NDArray

from rlx_base.dtypes import DType
from rlx_compiler.loops.ir import Kernel
from rlx_ir.dims import Shape
from rlx_wire.abi import ENTRY

__all__ = ["Argument", "HostCall", "Launch", "PackedArray", "Placed", "Port", "Program", "Region", "Stretch"]

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
class Placed:
    """A value that a host op reads or writes: where it is, and its type. A text is in slot `position` of "texts"."""

    region: Region | Choice["texts"]
    position: int
    dtype: DType
    shape: Shape


@dataclass(frozen=True, slots=True)
class HostCall:
    """An op that the host computes, before launch `before`, by its name and plain attributes."""

    before: int
    op: str
    attributes: Mapping[str, Any]
    operands: tuple[Placed | None, ...]
    results: tuple[Placed, ...]


@dataclass(frozen=True, slots=True)
class Stretch:
    """Launches `first … end − 1`, which one native call runs, by the function `symbol`."""

    symbol: str
    first: int
    end: int


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
    host: tuple[HostCall, ...] = ()

    @property
    def stretches(self) -> tuple[Stretch, ...]:
        """The launches between host ops; without any, all of them by `rlx_main`. There is one at least."""
        ends = sorted({call.before for call in self.host} | {len(self.launches)})
        starts = [0, *ends[:-1]]
        found = [(first, end) for first, end in zip(starts, ends, strict=True) if first < end] or [(0, 0)]
        return tuple(
            Stretch(ENTRY if place == 0 else f"{ENTRY}_{place}", first, end) for place, (first, end) in enumerate(found)
        )

    def weights_blob(self) -> bytes:
        """`weights.bin`: the packed arrays at their offsets, zeros between."""
        blob = bytearray(self.weights_bytes)
        for array in self.weights:
            data = array.elements.tobytes()
            blob[array.offset : array.offset + len(data)] = data
        return bytes(blob)
