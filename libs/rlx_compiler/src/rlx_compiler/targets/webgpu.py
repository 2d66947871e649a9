"""The `webgpu` target: WGSL, within the limits that every WebGPU device has. No float64; int64 is held in 32 bits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from rlx_compiler.emit.c_like.wgsl import WGSL
from rlx_compiler.loops.program import Program
from rlx_compiler.targets.cpu import find_device
from rlx_compiler.targets.grid_device import grid_spec, refuse_dtypes
from rlx_compiler.targets.registry import Built, Target
from rlx_compiler.targets.spec import TargetSpec

__all__ = ["TARGET"]

_NATIVE: Final = frozenset({"sqrt", "floor", "ceil", "round"})


def _describe(device: str) -> TargetSpec:
    return grid_spec(
        "webgpu",
        find_device("webgpu", device),
        threads=256,
        shared_bytes=16 << 10,
        native=_NATIVE,
        float64=False,
        reassociates=True,
    )


def _emit(program: Program, spec: TargetSpec) -> Mapping[str, str]:
    refuse_dtypes(program, "webgpu", frozenset({"float64"}))
    return {"kernel.wgsl": WGSL.whole(program, spec)}


def _build(sources: Mapping[str, str], spec: TargetSpec, opt_level: int, scratch: Path) -> Built:
    """The browser, or the library that stands in for one, compiles it when it is loaded."""
    del spec, opt_level, scratch
    return Built({name: text.encode() for name, text in sources.items()})


def _toolchain() -> Sequence[str]:
    return ()


TARGET: Final = Target("webgpu", _describe, _emit, _build, _toolchain, host_ops=True)
