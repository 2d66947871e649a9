"""A bundle in this process: its code mapped, its weights mapped read-only, its workspace taken, ready to be called.

This is the level of addresses; `rlx_runtime.model` puts NumPy arrays on top of it, the executor shared
memory.
"""

from __future__ import annotations

import ctypes
import mmap
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rlx_base.errors import ArtifactError, InternalError, RequestError
from rlx_runtime.host import LIBRARY, check_host
from rlx_runtime.native import CLOCK, PARK, Library, aligned_zeros
from rlx_runtime.team import ThreadTeam
from rlx_wire.abi import (
    ABI_VERSION,
    RLX_BAD_CALL,
    RLX_CANCELLED,
    RLX_OK,
    Call,
    Trace,
)
from rlx_wire.bundle import verify_bundle
from rlx_wire.manifest import Manifest, NativeSegment

__all__ = ["WEIGHTS", "Program", "load_program"]

WEIGHTS: Final = "weights.bin"

Cancel = ctypes.c_int32


class Program:
    """Compiled code that can be called by one team. One call at a time: the workspace is one."""

    def __init__(self, manifest: Manifest, library: Library, weights: NDArray[np.uint8], team: ThreadTeam) -> None:
        self.manifest = manifest
        self.team = team
        self._library = library
        self._weights = weights
        self._entries = [
            library.symbol(segment.symbol) for segment in manifest.launch_plan if isinstance(segment, NativeSegment)
        ]
        self._workspace = aligned_zeros(manifest.workspace_bytes)
        self._barrier = team.barrier()
        self._turn = threading.Lock()
        self._closed = False

    def call(
        self,
        inputs: Sequence[int],
        outputs: Sequence[int],
        dims: Sequence[int] = (),
        *,
        cancel: Cancel | None = None,
        trace: int = 0,
    ) -> None:
        """Runs the launch plan once on memory that the caller owns.

        All arguments but `cancel` are addresses: aligned, row-major, in manifest order. `trace` is 0 or has
        room for `trace_rows` rows. Raises: E425 once `cancel` is non-zero; E305 when the code refuses this
        ABI.
        """
        pointers_in = (ctypes.c_void_p * len(inputs))(*inputs)
        pointers_out = (ctypes.c_void_p * len(outputs))(*outputs)
        sizes = (ctypes.c_int64 * len(dims))(*dims)
        with self._turn:
            if self._closed:
                raise RequestError("E414", model=self.manifest.model, why="it was closed")
            calls = [
                Call(
                    size=ctypes.sizeof(Call),
                    abi_version=ABI_VERSION,
                    inputs=ctypes.addressof(pointers_in),
                    outputs=ctypes.addressof(pointers_out),
                    weights=self._weights.ctypes.data,
                    workspace=self._workspace.ctypes.data,
                    dims=ctypes.addressof(sizes) if dims else None,
                    thread_index=index,
                    thread_count=self.team.size,
                    cancel=ctypes.addressof(cancel) if cancel is not None else None,
                    barrier=ctypes.addressof(self._barrier),
                    park=PARK,
                    clock=CLOCK if trace else None,
                    trace=trace or None,
                )
                for index in range(self.team.size)
            ]
            for entry in self._entries:
                self._check(self.team.run(entry, calls))

    @property
    def trace_rows(self) -> int:
        """How many rows one traced call writes."""
        return len(self.manifest.kernels) * self.team.size

    @property
    def trace_bytes(self) -> int:
        return self.trace_rows * ctypes.sizeof(Trace)

    def close(self) -> None:
        """Gives the memory and the code back, after the call that runs now. Idempotent."""
        with self._turn:
            if self._closed:
                return
            self._closed = True
            self._library.close()
            # Unmapped with its last reference; an mmap cannot be closed under a view.
            self._weights = self._workspace = np.empty(0, np.uint8)

    def _check(self, status: int) -> None:
        if status == RLX_OK:
            return
        if status == RLX_CANCELLED:
            raise RequestError("E425", model=self.manifest.model)
        if status == RLX_BAD_CALL:
            raise ArtifactError("E305", expected=ABI_VERSION, found="code that refuses it")
        raise InternalError("E900", what=f"{self.manifest.model}: the compiled code answered {status}")


def load_program(directory: Path, team: ThreadTeam, expected_digest: str | None = None) -> Program:
    """Checks a bundle and maps it. Raises E301–E306, E309 or E310, each with what was expected and what was found."""
    manifest = verify_bundle(directory, expected_digest)
    check_host(manifest)
    weights = _map_weights(directory, manifest)
    library = Library(directory / LIBRARY)
    try:
        return Program(manifest, library, weights, team)
    except BaseException:
        library.close()
        raise


def _map_weights(directory: Path, manifest: Manifest) -> NDArray[np.uint8]:
    entry = manifest.files.get(WEIGHTS)
    size = entry.bytes if entry is not None else 0
    if size != manifest.weights_bytes:
        raise ArtifactError("E310", expected=f"{manifest.weights_bytes} bytes of weights", found=f"{size}")
    if size == 0:
        return np.empty(0, np.uint8)
    with (directory / WEIGHTS).open("rb") as stream:
        return np.frombuffer(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
