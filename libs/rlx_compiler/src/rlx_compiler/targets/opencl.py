"""The `opencl` target: OpenCL C, for a GPU (`generic`) or, named by its level, for a CPU behind an OpenCL driver.

A CPU runs one work-group on each of its processors, so there a group is one work-item with the vectors and register
tiles of a CPU's plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from rlx_compiler.emit.c_like.opencl import OPENCL
from rlx_compiler.loops.program import Program
from rlx_compiler.targets.cpu import X86_LEVELS, describe_x86, find_device
from rlx_compiler.targets.grid_device import grid_spec
from rlx_compiler.targets.registry import Built, Target
from rlx_compiler.targets.spec import TargetSpec

__all__ = ["TARGET"]

_NATIVE: Final = frozenset({"sqrt", "floor", "ceil", "round"})
_MOST_LANES: Final = 16  # OpenCL has no wider vectors


def _describe(device: str) -> TargetSpec:
    if device in X86_LEVELS:
        spec = describe_x86("opencl", device)
        return replace(spec, features=frozenset(), native=_NATIVE, most_lanes=_MOST_LANES, threads_per_block=1)
    return grid_spec("opencl", find_device("opencl", device), threads=256, shared_bytes=32 << 10, native=_NATIVE)


def _emit(program: Program, spec: TargetSpec) -> Mapping[str, str]:
    return {"kernel.cl": OPENCL.whole(program, spec)}


def _build(sources: Mapping[str, str], spec: TargetSpec, opt_level: int, scratch: Path) -> Built:
    """The driver of the device compiles it, when it is loaded."""
    del spec, opt_level, scratch
    return Built({name: text.encode() for name, text in sources.items()})


def _toolchain() -> Sequence[str]:
    return ()


TARGET: Final = Target("opencl", _describe, _emit, _build, _toolchain, host_ops=True)
