"""WebAssembly modules in an engine of this process (PyPI `wasmtime`): the sandbox that a browser has, without one.

Its memory is one flat array: what the module itself holds, then the weights, the workspace, and the inputs and outputs
of a call, each copied in and out. A team has one member there; what cancels a run is looked at when the run begins.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rlx_base.errors import ArtifactError, InternalError
from rlx_runtime.inputs import tensor_bytes
from rlx_runtime.native import memory_at
from rlx_runtime.program import Cancel, Program, map_weights
from rlx_runtime.runners.registry import Runner, missing_packages
from rlx_runtime.team import ThreadTeam
from rlx_wire.abi import ABI_VERSION, ALIGNMENT, ENTRY, call_layout
from rlx_wire.manifest import Manifest

__all__ = ["MODULE", "RUNNER", "WasmProgram"]

MODULE: Final = "kernel.wasm"
_PAGE: Final = 1 << 16
_POINTER: Final = 4


class WasmProgram(Program):
    """A module with its instance."""

    def __init__(self, manifest: Manifest, code: bytes, weights: NDArray[np.uint8]) -> None:
        import wasmtime

        super().__init__(manifest, threads=1)
        self._traps: Any = (wasmtime.Trap, wasmtime.WasmtimeError)
        try:
            self._store: Any = wasmtime.Store(wasmtime.Engine())
            module = wasmtime.Module(self._store.engine, code)
            exports: Any = wasmtime.Instance(self._store, module, []).exports(self._store)
            self._main = exports[ENTRY]
            self._linear = exports["memory"]
            free = int(exports["__heap_base"].value(self._store))
        except (KeyError, wasmtime.WasmtimeError) as error:
            raise ArtifactError("E309", name=MODULE, why=f"the engine refused it: {error}") from None
        integer = wasmtime.ValType.i32()
        tell = wasmtime.Func(self._store, wasmtime.FuncType([integer, integer], [integer]), self._tell_time)
        self._clock = int(exports["__indirect_function_table"].grow(self._store, 1, tell))
        self._weights = _up(free)
        self._workspace = _up(self._weights + weights.nbytes)
        self._free = _up(self._workspace + manifest.workspace_bytes)
        memory = self._reserve(self._free)
        memory[self._weights : self._weights + weights.nbytes] = weights

    def _call(
        self, inputs: Sequence[int], outputs: Sequence[int], dims: Sequence[int], cancel: Cancel | None, trace: int
    ) -> int:
        layout = call_layout(_POINTER)
        tensors = [tensor_bytes(spec, self.manifest, dims) for spec in (*self.manifest.inputs, *self.manifest.outputs)]
        rows = self.trace_bytes if trace else 0
        parts = [*tensors, _POINTER * len(tensors), 8 * len(dims), 4, layout.size, rows]
        places = [self._free + int(p) for p in np.cumsum([0, *map(_up, parts)])]
        memory = self._reserve(places[-1])
        pointers, sizes, flag, call, rows_at = places[len(tensors) : -1]
        for place, size, address in zip(places, tensors, inputs, strict=False):
            memory[place : place + size] = memory_at(address, size)
        _put(memory, pointers, np.array(places[: len(tensors)], "<u4"))
        _put(memory, sizes, np.array(dims, "<i8"))
        _put(memory, flag, np.array([cancel.value if cancel is not None else 0], "<i4"))
        fields = {
            "size": layout.size,
            "abi_version": ABI_VERSION,
            "inputs": pointers,
            "outputs": pointers + _POINTER * len(inputs),
            "weights": self._weights,
            "workspace": self._workspace,
            "dims": sizes,
            "thread_count": 1,
            "cancel": flag,
            "clock": self._clock if trace else 0,
            "trace": rows_at if trace else 0,
        }
        memory[call : call + layout.size] = 0
        for name, value in fields.items():
            _put(memory, call + layout.offset(name), np.array([value], "<u4"))
        try:
            status = int(self._main(self._store, call))
        except self._traps as error:
            raise InternalError("E900", what=f"the module trapped: {str(error).splitlines()[0]}") from None
        written = list(zip(places, tensors, (*inputs, *outputs), strict=False))[len(inputs) :]
        for place, size, address in [*written, (rows_at, rows, trace)]:
            memory_at(address, size)[...] = memory[place : place + size]
        return status

    def _reserve(self, size: int) -> NDArray[np.uint8]:
        """The module's memory, at least `size` bytes of it. Raises E900 beyond what 32 bits address."""
        missing = -(-size // _PAGE) - int(self._linear.size(self._store))
        if missing > 0:
            try:
                self._linear.grow(self._store, missing)
            except self._traps as error:
                raise InternalError("E900", what=f"{size} bytes of WebAssembly memory: {error}") from None
        address = ctypes.cast(self._linear.data_ptr(self._store), ctypes.c_void_p).value or 0
        return memory_at(address, int(self._linear.data_len(self._store)))

    def _tell_time(self, _: int, place: int) -> int:
        """`clock_gettime`: seconds and nanoseconds to where the second argument points."""
        _put(self._reserve(0), place & 0xFFFFFFFF, np.array(divmod(time.monotonic_ns(), 10**9), "<i8"))
        return 0

    def _release(self) -> None:
        self._store = self._main = self._linear = None


def _up(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def _put(memory: NDArray[np.uint8], place: int, words: NDArray[Any]) -> None:
    memory[place : place + words.nbytes] = words.view(np.uint8)


def _check(manifest: Manifest, features: frozenset[str] | None) -> None:
    """Whatever engine there is has the features: it says so itself when it refuses a module."""
    del features
    if MODULE not in manifest.files:
        raise ArtifactError("E310", expected=f"a bundle with {MODULE}", found=f"target {manifest.target}")


def _load(directory: Path, manifest: Manifest, team: ThreadTeam, device: int) -> Program:
    del team, device
    return WasmProgram(manifest, (directory / MODULE).read_bytes(), map_weights(directory, manifest))


RUNNER: Final = Runner(
    name="wasm",
    targets=frozenset({"wasm"}),
    device="cpu",
    unusable=lambda: missing_packages("wasm", "wasmtime"),
    check=_check,
    load=_load,
)
