"""OpenCL through pyopencl: any GPU or CPU whose driver is installed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rlx_base.errors import ArtifactError
from rlx_runtime.grid import GridProgram, check_launches
from rlx_runtime.program import Program, map_weights
from rlx_runtime.runners.registry import Runner, missing_packages
from rlx_runtime.team import ThreadTeam
from rlx_wire.manifest import DeviceLaunch, Manifest

__all__ = ["RUNNER", "SOURCE"]

SOURCE: Final = "kernel.cl"


@cache
def _devices() -> list[Any]:
    import pyopencl

    return [device for platform in pyopencl.get_platforms() for device in platform.get_devices()]


class OpenClDevice:
    """A bundle's kernels, compiled by the driver of one device, and a queue that runs them in order."""

    def __init__(self, source: str, index: int) -> None:
        import pyopencl

        self._cl = pyopencl
        self._context = pyopencl.Context([_devices()[index]])
        self._queue = pyopencl.CommandQueue(self._context)
        try:
            program = pyopencl.Program(self._context, source).build(options=["-cl-std=CL1.2"])
        except pyopencl.RuntimeError as error:
            why = f"its driver refuses the kernels: {str(error)[:2000]}"
            raise ArtifactError("E309", name=SOURCE, why=why) from None
        self._kernels = {kernel.function_name: kernel for kernel in program.all_kernels()}

    def words(self, dtype: str) -> np.dtype[np.generic] | None:
        del dtype
        return None

    def allocate(self, size: int) -> Any:
        return self._cl.Buffer(self._context, self._cl.mem_flags.READ_WRITE, size)

    def write(self, buffer: Any, array: NDArray[np.generic]) -> None:
        if array.size:
            self._cl.enqueue_copy(self._queue, buffer, array)

    def read(self, buffer: Any, array: NDArray[np.generic]) -> None:
        self._cl.enqueue_copy(self._queue, array, buffer)

    def launch(self, launch: DeviceLaunch, buffers: Sequence[Any]) -> None:
        kernel = self._kernels[launch.symbol]
        kernel.set_args(*buffers)
        self._cl.enqueue_nd_range_kernel(self._queue, kernel, (launch.blocks * launch.threads,), (launch.threads,))

    def finish(self) -> None:
        self._queue.finish()

    def close(self) -> None:
        self._queue.finish()
        self._kernels.clear()


def _unusable() -> str | None:
    missing = missing_packages("opencl", "pyopencl")
    if missing is not None:
        return missing
    try:
        found = _devices()
    except Exception as error:
        return str(error) or type(error).__name__
    return None if found else "no OpenCL driver lists a device; Debian has one for CPUs: pocl-opencl-icd"


def _check(manifest: Manifest, features: frozenset[str] | None) -> None:
    del features
    check_launches(manifest)


def _load(directory: Path, manifest: Manifest, team: ThreadTeam, device: int) -> Program:
    del team
    weights = map_weights(directory, manifest)
    return GridProgram(manifest, OpenClDevice((directory / SOURCE).read_text(), device), weights)


RUNNER: Final = Runner("opencl", frozenset({"opencl"}), "opencl", _unusable, _check, _load)
