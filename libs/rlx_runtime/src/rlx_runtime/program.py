"""A bundle that is loaded and ready to be called, whatever runs its code; and the loading of one.

This is the level of addresses: `rlx_runtime.model` puts NumPy arrays on top of it, the executor shared memory. A
runner (`rlx_runtime.runners`) makes a Program of a bundle: native code in this process, code for another machine in an
emulator, kernels on a GPU.
"""

from __future__ import annotations

import ctypes
import mmap
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rlx_base.errors import ArtifactError, InternalError, RequestError
from rlx_runtime.host import check_host
from rlx_runtime.team import ThreadTeam
from rlx_wire.abi import ABI_VERSION, RLX_BAD_CALL, RLX_CANCELLED, RLX_OK, Trace
from rlx_wire.bundle import verify_bundle
from rlx_wire.manifest import Manifest

__all__ = ["WEIGHTS", "Cancel", "Program", "load_program", "map_weights"]

WEIGHTS: Final = "weights.bin"

Cancel = ctypes.c_int32


class Program(ABC):
    """Loaded code. One call at a time: the workspace is one. A runner gives `_call` and `_release`."""

    def __init__(self, manifest: Manifest, threads: int) -> None:
        self.manifest = manifest
        self.threads = threads
        self.texts: dict[tuple[str, int], NDArray[Any]] = {}
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
        texts: dict[tuple[str, int], NDArray[Any]] | None = None,
    ) -> None:
        """Runs the launch plan once on memory that the caller owns.

        All arguments but `cancel` are addresses in this process: aligned, row-major, in manifest order. `trace` is 0
        or has room for `trace_rows` rows; a runner that takes no times leaves them as they are. `texts` holds
        inputs of text by ("input", number), whose addresses do not matter, and takes outputs of text. Raises: E425 once
        `cancel` is non-zero; E305 when the code refuses this ABI; what a host op raises.
        """
        with self._turn:
            if self._closed:
                raise RequestError("E414", model=self.manifest.model, why="it was closed")
            self.texts = {} if texts is None else texts
            self._check(self._call(inputs, outputs, dims, cancel, trace))

    @property
    def trace_rows(self) -> int:
        """How many rows one traced call writes."""
        return len(self.manifest.kernels) * self.threads

    @property
    def trace_bytes(self) -> int:
        return self.trace_rows * ctypes.sizeof(Trace)

    def close(self) -> None:
        """Gives the memory and the code back, after the call that runs now. Idempotent."""
        with self._turn:
            if not self._closed:
                self._closed = True
                self._release()

    @abstractmethod
    def _call(
        self, inputs: Sequence[int], outputs: Sequence[int], dims: Sequence[int], cancel: Cancel | None, trace: int
    ) -> int:
        """One run; gives what `rlx_main` returned, or RLX_CANCELLED or RLX_OK where there is no such function."""

    @abstractmethod
    def _release(self) -> None:
        """Gives back what the program holds. Called once."""

    def _check(self, status: int) -> None:
        if status == RLX_OK:
            return
        if status == RLX_CANCELLED:
            raise RequestError("E425", model=self.manifest.model)
        if status == RLX_BAD_CALL:
            raise ArtifactError("E305", expected=ABI_VERSION, found="code that refuses it")
        raise InternalError("E900", what=f"{self.manifest.model}: the compiled code answered {status}")


def load_program(directory: Path, team: ThreadTeam, expected_digest: str | None = None, *, device: int = 0) -> Program:
    """Checks a bundle and loads it on a device, by its number, of the kind that runs the bundle's target.

    Raises E301–E306, E309, E310 or E312, each with what was expected and what was found.
    """
    manifest = verify_bundle(directory, expected_digest)
    return check_host(manifest).load(directory, manifest, team, device)


def map_weights(directory: Path, manifest: Manifest) -> NDArray[np.uint8]:
    """The bundle's weights, mapped read-only. Raises E310 unless they are as many bytes as the manifest says."""
    entry = manifest.files.get(WEIGHTS)
    size = entry.bytes if entry is not None else 0
    if size != manifest.weights_bytes:
        raise ArtifactError("E310", expected=f"{manifest.weights_bytes} bytes of weights", found=f"{size}")
    if size == 0:
        return np.empty(0, np.uint8)
    with (directory / WEIGHTS).open("rb") as stream:
        return np.frombuffer(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
