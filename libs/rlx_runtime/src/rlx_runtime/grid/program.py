"""A bundle of GPU kernels that is loaded on a device: where its values are there, and how one inference runs.

Every value of the workspace has a buffer of its own, shared with those that the compiler put at the same place: devices
differ in what parts of a buffer they can bind, and none minds several buffers. Weights are copied once.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlx_base.dtypes import DTYPES, STRING
from rlx_base.errors import ArtifactError, RequestError
from rlx_ir.elements import numpy_of
from rlx_runtime.grid.device import Device
from rlx_runtime.host_ops import HostOp, Memory, host_op
from rlx_runtime.program import Cancel, Program
from rlx_wire.abi import RLX_CANCELLED, RLX_OK, Trace
from rlx_wire.manifest import (
    DeviceArgument,
    DeviceLaunch,
    DeviceSegment,
    HostOpSegment,
    HostValue,
    Manifest,
    NativeSegment,
    TensorSpec,
)

__all__ = ["GridProgram", "check_launches"]

Array = NDArray[np.generic]


def check_launches(manifest: Manifest) -> None:
    """Raises E310 unless the bundle's plan is launches on a device, with host ops between."""
    for segment in manifest.launch_plan:
        if isinstance(segment, NativeSegment):
            raise ArtifactError("E310", expected="a launch plan for a device", found="a native call")


class GridProgram(Program):
    """Kernels on a device; `weights` are those of the bundle, which are copied to it here."""

    def __init__(self, manifest: Manifest, device: Device, weights: NDArray[np.uint8]) -> None:
        super().__init__(manifest, threads=1)
        self._device = device
        self._weights = weights
        self._steps: list[DeviceLaunch | HostOp] = []
        for segment in manifest.launch_plan:
            if isinstance(segment, DeviceSegment):
                self._steps += segment.launches
            elif isinstance(segment, HostOpSegment):
                self._steps.append(host_op(segment))
        self._launches = [step for step in self._steps if isinstance(step, DeviceLaunch)]
        self._buffers: dict[tuple[str, int], Any] = {}
        for key, size in self._sizes().items():
            self._buffers[key] = device.allocate(max(4, size))
        for argument in self._arguments():
            if argument.region == "weights":
                count = argument.elements * _numpy(argument.dtype).itemsize
                raw = weights[argument.position : argument.position + count]
                device.write(self._buffers[_key(argument)], self._sent(raw, argument.dtype))

    def _arguments(self) -> list[DeviceArgument]:
        found = {(a.region, a.position, a.dtype, a.elements): a for one in self._launches for a in one.arguments}
        return list(found.values())

    def _sizes(self) -> dict[tuple[str, int], int]:
        """The bytes of each buffer: of the largest value that lies in it."""
        sizes: dict[tuple[str, int], int] = {}
        for argument in self._arguments():
            key, size = _key(argument), argument.elements * self._stored(argument.dtype).itemsize
            sizes[key] = max(size, sizes.get(key, 0))
        for value in self._host_values():
            size = prod(value.shape) * self._stored(value.dtype).itemsize
            sizes[value.region, value.at] = max(size, sizes.get((value.region, value.at), 0))
        return sizes

    def _host_values(self) -> list[HostValue]:
        """What host ops read and write on the device."""
        segments = [step.segment for step in self._steps if isinstance(step, HostOp)]
        values = [value for one in segments for value in (*one.operands, *one.results) if value is not None]
        return [value for value in values if value.region != "weights" and value.dtype != STRING.name]

    def _stored(self, dtype: str) -> np.dtype[np.generic]:
        return self._device.words(dtype) or _numpy(dtype)

    def _sent(self, raw: Array, dtype: str) -> Array:
        """Elements as the device holds them. Raises E415 for a number that it cannot hold."""
        here, there = _numpy(dtype), self._device.words(dtype)
        values = raw.view(here)
        if there is None:
            return values
        if here == np.float16:
            return values.view(np.uint16).astype(there)
        sent = values.astype(there)
        if here.itemsize > there.itemsize and not np.array_equal(sent.astype(here), values):
            raise RequestError(
                "E415",
                model=self.manifest.model,
                what=f"{dtype} beyond {there}, which is what {self.manifest.target} computes it in",
                inputs="numbers that fit",
            )
        return sent

    def _call(
        self, inputs: Sequence[int], outputs: Sequence[int], dims: Sequence[int], cancel: Cancel | None, trace: int
    ) -> int:
        del dims  # shapes are numbers
        for place, (spec, address) in enumerate(zip(self.manifest.inputs, inputs, strict=True)):
            buffer = self._buffers.get(("input", place))
            if buffer is not None and (raw := _memory(spec, address)).size:
                self._device.write(buffer, self._sent(raw, spec.dtype))
        rows = (Trace * len(self._launches)).from_address(trace) if trace else None
        place = 0
        for step in self._steps:
            if cancel is not None and cancel.value:
                self._device.finish()
                return RLX_CANCELLED
            if isinstance(step, HostOp):
                self._on_host(step)
            else:
                self._launch(place, step, rows)
                place += 1
        for place, (spec, address) in enumerate(zip(self.manifest.outputs, outputs, strict=True)):
            raw = _memory(spec, address)
            buffer = self._buffers.get(("output", place))
            if buffer is not None and raw.size:
                self._receive(buffer, raw, spec.dtype)
        self._device.finish()
        return RLX_OK

    def _on_host(self, step: HostOp) -> None:
        """Computes an op here: what it reads comes from the device, and what it writes goes there."""
        memory = _HostMemory((), (), self._weights, np.empty(0, np.uint8), self.texts)
        for value in step.segment.operands:
            if value is not None and value.region != "weights" and value.dtype != STRING.name:
                array = memory.array(value)
                if array.size:
                    self._receive(self._buffers[value.region, value.at], array.reshape(-1).view(np.uint8), value.dtype)
        step.run(memory)
        for value in step.segment.results:
            if value.dtype != STRING.name and (array := memory.array(value)).size:
                raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
                self._device.write(self._buffers[value.region, value.at], self._sent(raw, value.dtype))

    def _launch(self, place: int, launch: DeviceLaunch, rows: Any) -> None:
        buffers = [self._buffers[_key(argument)] for argument in launch.arguments]
        if rows is None:
            self._device.launch(launch, buffers)
            return
        # A traced run waits for each kernel, so that its time is its own.
        self._device.finish()
        begin = time.monotonic_ns()
        self._device.launch(launch, buffers)
        self._device.finish()
        rows[place] = Trace(start_ns=begin, end_ns=time.monotonic_ns(), kernel=place, thread=0)

    def _receive(self, buffer: Any, raw: Array, dtype: str) -> None:
        here, there = _numpy(dtype), self._device.words(dtype)
        values = raw.view(here)
        if there is None:
            self._device.read(buffer, values)
            return
        held = np.empty(values.size, there)
        self._device.read(buffer, held)
        if here == np.float16:
            values[...] = held.astype(np.uint16).view(np.float16)
        else:
            values[...] = held.astype(here)

    def _release(self) -> None:
        self._buffers.clear()
        self._device.close()


def _key(argument: DeviceArgument) -> tuple[str, int]:
    """Which buffer an argument lies in. One of no elements has a buffer apart: the place where it would be is another
    value's, which the same kernel may write."""
    return (argument.region, argument.position) if argument.elements else ("nothing", int(argument.written))


class _HostMemory(Memory):
    """What a host op works on, as copies of what lies on the device."""

    __slots__ = ("copies",)

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self.copies: dict[tuple[str, int, str, tuple[int, ...]], Array] = {}

    def array(self, value: HostValue) -> Array:
        if value.region == "weights" or value.dtype == STRING.name:
            return super().array(value)
        key = (value.region, value.at, value.dtype, value.shape)
        return self.copies.setdefault(key, np.zeros(value.shape, numpy_of(DTYPES[value.dtype])))


def _numpy(dtype: str) -> np.dtype[np.generic]:
    """How elements lie here: for what NumPy does not have, as integers of their bits."""
    known = DTYPES[dtype].bits_held.numpy
    assert known is not None, "integers are NumPy's"
    return known


def _memory(spec: TensorSpec, address: int) -> NDArray[np.uint8]:
    """The caller's memory of a tensor, as bytes; none of a text."""
    if spec.dtype == STRING.name:
        return np.empty(0, np.uint8)
    size = DTYPES[spec.dtype].itemsize
    for dim in spec.shape:
        assert isinstance(dim, int), "shapes are numbers"
        size *= dim
    if size == 0:
        return np.empty(0, np.uint8)
    return np.frombuffer(memoryview((ctypes.c_uint8 * size).from_address(address)).cast("B"), np.uint8)
