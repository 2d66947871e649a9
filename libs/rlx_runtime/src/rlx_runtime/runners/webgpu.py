"""WebGPU through wgpu: any GPU that wgpu-native finds by Vulkan, Metal or Direct3D, and lavapipe where there is none.

Numbers lie in words there: small integers, truth values and the bits of a float16 each in one, and so do 64-bit
integers, which must fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rlx_base.dtypes import DTYPES
from rlx_base.errors import ArtifactError
from rlx_runtime.grid import GridProgram, check_launches
from rlx_runtime.program import Program, map_weights
from rlx_runtime.runners.registry import Runner, missing_packages
from rlx_runtime.team import ThreadTeam
from rlx_wire.manifest import DeviceLaunch, Manifest

__all__ = ["RUNNER", "SOURCE"]

SOURCE: Final = "kernel.wgsl"
_ROW: Final = 65535  # blocks in a row of the grid, at most


@cache
def _adapters() -> list[Any]:
    import wgpu

    return list(wgpu.gpu.enumerate_adapters_sync())


class WebGpuDevice:
    """A bundle's kernels on one adapter. Launches are collected and begin together when something waits for them."""

    def __init__(self, source: str, index: int) -> None:
        import wgpu

        self._wgpu = wgpu
        adapter = _adapters()[index]
        wanted = ("max-storage-buffers-per-shader-stage", "max-storage-buffer-binding-size", "max-buffer-size")
        limits = {name: adapter.limits[name] for name in wanted if name in adapter.limits}
        self._device = adapter.request_device_sync(required_limits=limits)
        try:
            self._module = self._device.create_shader_module(code=source)
        except wgpu.GPUError as error:
            raise ArtifactError("E309", name=SOURCE, why=f"WebGPU refuses it: {str(error)[:2000]}") from None
        self._pipelines: dict[tuple[str, tuple[bool, ...]], Any] = {}
        self._groups: dict[tuple[Any, ...], Any] = {}
        self._encoder: Any = None
        self._word = self.allocate(4)

    def words(self, dtype: str) -> np.dtype[np.generic] | None:
        kind = DTYPES[dtype].bits_held
        if dtype in ("float32", "int32", "uint32"):
            return None
        return np.dtype(np.int32 if kind.kind == "int" else np.uint32)

    def allocate(self, size: int) -> Any:
        usage = self._wgpu.BufferUsage
        return self._device.create_buffer(size=-(-size // 4) * 4, usage=usage.STORAGE | usage.COPY_DST | usage.COPY_SRC)

    def write(self, buffer: Any, array: NDArray[np.generic]) -> None:
        if array.size:
            self._device.queue.write_buffer(buffer, 0, np.ascontiguousarray(array).view(np.uint8))

    def read(self, buffer: Any, array: NDArray[np.generic]) -> None:
        self._submit()
        raw = self._device.queue.read_buffer(buffer, 0, array.nbytes)
        array[...] = np.frombuffer(raw, array.dtype)

    def _pipeline(self, launch: DeviceLaunch) -> Any:
        key = (launch.symbol, tuple(argument.written for argument in launch.arguments))
        if key not in self._pipelines:
            entries = [
                {
                    "binding": place,
                    "visibility": self._wgpu.ShaderStage.COMPUTE,
                    "buffer": {"type": "storage" if argument.written else "read-only-storage"},
                }
                for place, argument in enumerate(launch.arguments)
            ]
            group = self._device.create_bind_group_layout(entries=entries)
            layout = self._device.create_pipeline_layout(bind_group_layouts=[group])
            compute = {"module": self._module, "entry_point": launch.symbol}
            self._pipelines[key] = (self._device.create_compute_pipeline(layout=layout, compute=compute), group)
        return self._pipelines[key]

    def launch(self, launch: DeviceLaunch, buffers: Sequence[Any]) -> None:
        pipeline, layout = self._pipeline(launch)
        key = (launch.symbol, *(id(buffer) for buffer in buffers))
        if key not in self._groups:
            entries = [
                {"binding": place, "resource": {"buffer": buffer, "offset": 0, "size": buffer.size}}
                for place, buffer in enumerate(buffers)
            ]
            self._groups[key] = self._device.create_bind_group(layout=layout, entries=entries)
        if self._encoder is None:
            self._encoder = self._device.create_command_encoder()
        steps = self._encoder.begin_compute_pass()
        steps.set_pipeline(pipeline)
        steps.set_bind_group(0, self._groups[key])
        steps.dispatch_workgroups(min(launch.blocks, _ROW), -(-launch.blocks // _ROW), 1)
        steps.end()

    def _submit(self) -> None:
        if self._encoder is not None:
            encoder, self._encoder = self._encoder, None
            self._device.queue.submit([encoder.finish()])

    def finish(self) -> None:
        """By reading a word: what was submitted before is through when it arrives."""
        self._submit()
        self._device.queue.read_buffer(self._word, 0, 4)

    def close(self) -> None:
        self._submit()
        self._groups.clear()
        self._pipelines.clear()


def _unusable() -> str | None:
    missing = missing_packages("webgpu", "wgpu")
    if missing is not None:
        return missing
    try:
        found = _adapters()
    except Exception as error:
        return str(error) or type(error).__name__
    return None if found else "wgpu finds no adapter; Debian has one for CPUs: mesa-vulkan-drivers"


def _check(manifest: Manifest, features: frozenset[str] | None) -> None:
    del features
    check_launches(manifest)


def _load(directory: Path, manifest: Manifest, team: ThreadTeam, device: int) -> Program:
    del team
    weights = map_weights(directory, manifest)
    return GridProgram(manifest, WebGpuDevice((directory / SOURCE).read_text(), device), weights)


RUNNER: Final = Runner("webgpu", frozenset({"webgpu"}), "webgpu", _unusable, _check, _load)
