"""The `metal` target: source in Metal's shading language, which the system of an Apple device compiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from rlx_compiler.emit.c_like.metal import METAL
from rlx_compiler.loops.program import Program
from rlx_compiler.targets.cpu import find_device
from rlx_compiler.targets.grid_device import grid_spec, refuse_dtypes
from rlx_compiler.targets.registry import Built, Target
from rlx_compiler.targets.spec import TargetSpec

__all__ = ["TARGET"]

_NATIVE: Final = frozenset({"sqrt", "floor", "ceil", "round"})


def _describe(device: str) -> TargetSpec:
    return grid_spec(
        "metal",
        find_device("metal", device),
        threads=1024,
        shared_bytes=32 << 10,
        subgroup=32,
        native=_NATIVE,
        location="UNIFIED",
        float64=False,
        reassociates=True,
    )


def _emit(program: Program, spec: TargetSpec) -> Mapping[str, str]:
    refuse_dtypes(program, "metal", frozenset({"float64"}))
    return {"kernel.metal": METAL.whole(program, spec)}


def _build(sources: Mapping[str, str], spec: TargetSpec, opt_level: int, scratch: Path) -> Built:
    del spec, opt_level, scratch
    return Built({name: text.encode() for name, text in sources.items()})


def _toolchain() -> Sequence[str]:
    return ()


TARGET: Final = Target("metal", _describe, _emit, _build, _toolchain)
