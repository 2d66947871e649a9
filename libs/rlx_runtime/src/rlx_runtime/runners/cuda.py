"""CUDA through CuPy: the cubin where the GPU is the one that it was made for, else PTX, which the driver translates."""

from __future__ import annotations

from collections.abc import Sequence
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

__all__ = ["CUBIN", "PTX", "RUNNER"]

CUBIN: Final = "kernel.cubin"
PTX: Final = "kernel.ptx"


def _code(manifest: Manifest, index: int) -> str:
    """The file that this GPU takes. Raises E310 for one that is older than the bundle's."""
    import cupy

    own = int(cupy.cuda.Device(index).compute_capability)
    asked = int(manifest.cpu.removeprefix("sm_"))
    if own < asked:
        raise ArtifactError("E310", expected=f"a GPU of {manifest.cpu} or later", found=f"sm_{own}")
    return CUBIN if own == asked else PTX


class CudaDevice:
    """A bundle's kernels on one GPU, and a stream that runs them in order."""

    def __init__(self, path: Path, index: int) -> None:
        import cupy

        self._cupy = cupy
        self._device = cupy.cuda.Device(index)
        with self._device:
            self._stream = cupy.cuda.Stream(non_blocking=True)
            try:
                self._module = cupy.RawModule(path=str(path))
                self._module.compile()
            except cupy.cuda.driver.CUDADriverError as error:
                raise ArtifactError("E309", name=path.name, why=str(error)) from None
        self._kernels: dict[str, Any] = {}

    def words(self, dtype: str) -> np.dtype[np.generic] | None:
        del dtype
        return None

    def allocate(self, size: int) -> Any:
        with self._device:
            return self._cupy.empty(size, np.uint8)

    def write(self, buffer: Any, array: NDArray[np.generic]) -> None:
        if array.size:
            raw = np.ascontiguousarray(array).view(np.uint8)
            with self._device, self._stream:
                buffer[: raw.size].set(raw)

    def read(self, buffer: Any, array: NDArray[np.generic]) -> None:
        with self._device, self._stream:
            array.view(np.uint8)[...] = buffer[: array.nbytes].get()

    def launch(self, launch: DeviceLaunch, buffers: Sequence[Any]) -> None:
        if launch.symbol not in self._kernels:
            self._kernels[launch.symbol] = self._module.get_function(launch.symbol)
        with self._device, self._stream:
            self._kernels[launch.symbol]((launch.blocks,), (launch.threads,), tuple(buffers))

    def finish(self) -> None:
        self._stream.synchronize()

    def close(self) -> None:
        self._stream.synchronize()
        self._kernels.clear()


def _unusable() -> str | None:
    missing = missing_packages("cuda", "cupy")
    if missing is not None:
        return missing
    try:
        import cupy

        count = cupy.cuda.runtime.getDeviceCount()
    except Exception as error:
        return str(error) or type(error).__name__
    return None if count else "the CUDA driver lists no device"


def _check(manifest: Manifest, features: frozenset[str] | None) -> None:
    del features
    check_launches(manifest)


def _load(directory: Path, manifest: Manifest, team: ThreadTeam, device: int) -> Program:
    del team
    code = directory / _code(manifest, device)
    return GridProgram(manifest, CudaDevice(code, device), map_weights(directory, manifest))


RUNNER: Final = Runner("cuda", frozenset({"cuda"}), "cuda", _unusable, _check, _load)
