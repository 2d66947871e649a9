"""Code for this very machine, called in this process: its library mapped, its workspace taken, a team that calls it."""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rlx_base.errors import ArtifactError
from rlx_runtime.host_ops import HostOp, Memory, steps
from rlx_runtime.native import CLOCK, PARK, Library, aligned_zeros
from rlx_runtime.program import Cancel, Program, map_weights
from rlx_runtime.runners.registry import Runner
from rlx_runtime.team import ThreadTeam
from rlx_wire.abi import ABI_VERSION, Call
from rlx_wire.cpu import host_features, level_for
from rlx_wire.manifest import HostOpSegment, Manifest, NativeSegment

__all__ = ["LIBRARY", "RUNNER", "TARGETS", "NativeProgram", "check_library"]

LIBRARY: Final = "librlx_kernel.so"

# The targets whose code is native to a machine.
_TARGETS: Final = {"x86_64": ("c", "llvm"), "aarch64": ("aarch64",), "riscv64": ("riscv64",)}
TARGETS: Final = frozenset(_TARGETS.get(platform.machine(), ()))


class NativeProgram(Program):
    """Compiled code that can be called by one team."""

    def __init__(self, manifest: Manifest, library: Library, weights: NDArray[np.uint8], team: ThreadTeam) -> None:
        super().__init__(manifest, team.size)
        self._team = team
        self._library = library
        self._weights = weights
        self._steps = steps(manifest.launch_plan, library.symbol)
        self._workspace = aligned_zeros(manifest.workspace_bytes)
        self._barrier = team.barrier()

    def _call(
        self, inputs: Sequence[int], outputs: Sequence[int], dims: Sequence[int], cancel: Cancel | None, trace: int
    ) -> int:
        pointers_in = (ctypes.c_void_p * len(inputs))(*inputs)
        pointers_out = (ctypes.c_void_p * len(outputs))(*outputs)
        sizes = (ctypes.c_int64 * len(dims))(*dims)
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
                thread_count=self.threads,
                cancel=ctypes.addressof(cancel) if cancel is not None else None,
                barrier=ctypes.addressof(self._barrier),
                park=PARK,
                clock=CLOCK if trace else None,
                trace=trace or None,
            )
            for index in range(self.threads)
        ]
        memory = Memory(inputs, outputs, self._weights, self._workspace, self.texts)
        for step in self._steps:
            if isinstance(step, HostOp):
                step.run(memory)
            elif status := self._team.run(step, calls):
                return status
        return 0

    def _release(self) -> None:
        self._library.close()
        # Unmapped with its last reference; an mmap cannot be closed under a view.
        self._weights = self._workspace = np.empty(0, np.uint8)


def check_library(manifest: Manifest) -> None:
    """Raises E310 unless the bundle's plan is native calls of a library that it holds, without host ops between."""
    _check_library_file(manifest)
    for segment in manifest.launch_plan:
        if not isinstance(segment, NativeSegment):
            what = f"host op {segment.op}" if isinstance(segment, HostOpSegment) else "launches on a device"
            raise ArtifactError("E310", expected="a launch plan of native calls", found=what)


def _check_library_file(manifest: Manifest) -> None:
    if LIBRARY not in manifest.files:
        raise ArtifactError("E310", expected=f"a bundle with {LIBRARY}", found=f"target {manifest.target}")


def _check(manifest: Manifest, features: frozenset[str] | None) -> None:
    """The alternative to a check that fails is a SIGILL in the middle of a request."""
    _check_library_file(manifest)
    held = host_features() if features is None else features
    missing = [feature for feature in manifest.cpu_features if feature not in held]
    if not missing:
        return
    try:
        level = level_for(held, platform.machine()).name
    except KeyError:
        level = platform.machine()
    raise ArtifactError("E306", expected=manifest.cpu, found=f"{level} without {', '.join(missing)}", level=level)


def _load(directory: Path, manifest: Manifest, team: ThreadTeam, device: int) -> Program:
    del device
    weights = map_weights(directory, manifest)
    library = Library(directory / LIBRARY)
    try:
        return NativeProgram(manifest, library, weights, team)
    except BaseException:
        library.close()
        raise


RUNNER: Final = Runner(name="native", targets=TARGETS, device="cpu", unusable=lambda: None, check=_check, load=_load)
