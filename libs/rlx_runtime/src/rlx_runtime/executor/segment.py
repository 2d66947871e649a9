"""Shared memory between a node and its executor: nameless files in memory, and where each tensor lies in them.

A `memfd` has no name, so nothing is left in /dev/shm whoever dies; it goes with its last descriptor and
mapping.
"""

from __future__ import annotations

import math
import mmap
import os
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from rlx_runtime.inputs import Array, concrete_shape, numpy_dtype
from rlx_wire.abi import ALIGNMENT
from rlx_wire.manifest import Manifest, TensorSpec

__all__ = ["Layout", "Place", "Segment", "layout"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a tensor lies in a segment."""

    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype[np.generic]

    @property
    def bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


@dataclass(frozen=True, slots=True)
class Layout:
    """Where all of one request lies: inputs, outputs, then the rows of the trace."""

    inputs: tuple[Place, ...]
    outputs: tuple[Place, ...]
    trace: int
    size: int


def layout(manifest: Manifest, dims: tuple[int, ...], trace_bytes: int = 0) -> Layout:
    """The layout that both sides compute for themselves: tensors in manifest order, each on an aligned boundary."""
    end = 0

    def placed(specs: Iterable[TensorSpec]) -> tuple[Place, ...]:
        nonlocal end
        places = []
        for spec in specs:
            place = Place(end, concrete_shape(spec, manifest, dims), numpy_dtype(spec))
            end += -(-place.bytes // ALIGNMENT) * ALIGNMENT
            places.append(place)
        return tuple(places)

    inputs, outputs = placed(manifest.inputs), placed(manifest.outputs)
    return Layout(inputs, outputs, end, end + trace_bytes)


class Segment:
    """A piece of shared memory, mapped into this process."""

    def __init__(self, descriptor: int, size: int) -> None:
        """Takes over the descriptor."""
        self.size = size
        self.descriptor = descriptor
        self._map = mmap.mmap(descriptor, size)
        self.address = int(np.frombuffer(self._map, np.uint8).ctypes.data)

    @classmethod
    def create(cls, size: int) -> Segment:
        """New memory of at least `size` bytes, in whole pages."""
        size = max(1, -(-size // mmap.PAGESIZE)) * mmap.PAGESIZE
        descriptor = os.memfd_create("rlx-tensors", os.MFD_CLOEXEC)
        try:
            os.ftruncate(descriptor, size)
            return cls(descriptor, size)
        except BaseException:
            os.close(descriptor)
            raise

    def array(self, place: Place) -> Array:
        """The tensor at that place, as a view. It must be gone before the segment is closed."""
        return np.frombuffer(self._map, place.dtype, math.prod(place.shape), place.offset).reshape(place.shape)

    def read(self, offset: int, size: int) -> bytes:
        return self._map[offset : offset + size]

    def clear(self, offset: int, size: int) -> None:
        self._map[offset : offset + size] = bytes(size)

    def close(self) -> None:
        self._map.close()
        os.close(self.descriptor)
