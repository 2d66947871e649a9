"""A model in this process: named arrays in, named arrays out. For `rlx infer`, `rlx.jit` and benchmarks.

A service does not compute in its own process: see `rlx_runtime.executor`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from rlx_base.dtypes import STRING
from rlx_runtime.inputs import Array, bind, concrete_shape, numpy_dtype
from rlx_runtime.native import aligned_empty, is_aligned
from rlx_runtime.profile import Profile, read_trace
from rlx_runtime.program import Cancel, Program, load_program
from rlx_runtime.team import ThreadTeam
from rlx_wire.abi import Trace
from rlx_wire.manifest import Manifest

__all__ = ["InProcessModel", "TracedRun", "load"]


@dataclass(frozen=True, slots=True)
class TracedRun:
    """The outputs of one run and when each thread worked on each kernel."""

    outputs: dict[str, Array]
    profile: Profile


class InProcessModel:
    """A loaded bundle. `run` may be called from any thread; calls take turns, since the workspace is one."""

    def __init__(self, program: Program) -> None:
        self._program = program

    @property
    def manifest(self) -> Manifest:
        return self._program.manifest

    @property
    def threads(self) -> int:
        return self._program.threads

    def run(self, inputs: Mapping[str, Any], *, cancel: Cancel | None = None) -> dict[str, Array]:
        """One inference. The outputs are new arrays.

        `cancel` is a cell that another thread may set to end the run at the next kernel. Raises: E415 for inputs that
        are not the manifest's; E425 when cancelled.
        """
        return self._run(inputs, cancel, None)

    def trace(self, inputs: Mapping[str, Any]) -> TracedRun:
        """One inference that records when each thread worked on each kernel."""
        rows = (Trace * self._program.trace_rows)()
        outputs = self._run(inputs, None, rows)
        return TracedRun(outputs, Profile.of(self.manifest, self.threads, [read_trace(bytes(rows))]))

    def profile(self, inputs: Mapping[str, Any], runs: int = 1) -> Profile:
        """The timings of `runs` inferences, as one profile."""
        profiles = [self.trace(inputs).profile for _ in range(runs)]
        return Profile.of(self.manifest, self.threads, [run for profile in profiles for run in profile.runs])

    def close(self) -> None:
        """Gives code, weights and workspace back. Idempotent."""
        self._program.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(
        self, inputs: Mapping[str, Any], cancel: Cancel | None, rows: ctypes.Array[Trace] | None
    ) -> dict[str, Array]:
        binding = bind(self.manifest, inputs)
        # Texts have no place in memory: they stand beside the addresses, of which theirs are 0.
        texts = {("input", i): array for i, array in enumerate(binding.arrays) if array.dtype == object}
        arrays = [
            None if array.dtype == object else array if is_aligned(array) else _aligned_copy(array)
            for array in binding.arrays
        ]
        outputs = [
            None
            if spec.dtype == STRING.name
            else aligned_empty(concrete_shape(spec, self.manifest, binding.dims), numpy_dtype(spec))
            for spec in self.manifest.outputs
        ]
        self._program.call(
            [0 if array is None else array.ctypes.data for array in arrays],
            [0 if array is None else array.ctypes.data for array in outputs],
            binding.dims,
            cancel=cancel,
            trace=ctypes.addressof(rows) if rows is not None else 0,
            texts=texts,
        )
        return {
            spec.name: texts["output", place] if array is None else array
            for place, (spec, array) in enumerate(zip(self.manifest.outputs, outputs, strict=True))
        }


def load(directory: Path | str, threads: int | None = None) -> InProcessModel:
    """Loads a bundle directory into this process, on `threads` threads (None: as many as the process may use).

    Raises ArtifactError, "artifact rejected: …", unless digest, ABI version and CPU features all match.
    """
    return InProcessModel(load_program(Path(directory), ThreadTeam(threads)))


def _aligned_copy(array: Array) -> Array:
    copy = aligned_empty(array.shape, array.dtype.newbyteorder("="))
    np.copyto(copy, array)
    return copy
