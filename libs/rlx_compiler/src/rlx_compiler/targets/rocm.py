"""The `rocm` target: a code object for one AMD GPU, by LLVM and LLD."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from rlx_compiler import link
from rlx_compiler.emit.llvm.gpu import AMDGPU
from rlx_compiler.emit.llvm.grid import emit_grid
from rlx_compiler.loops.program import Program
from rlx_compiler.targets.cpu import find_device
from rlx_compiler.targets.grid_device import grid_spec
from rlx_compiler.targets.registry import Built, Target
from rlx_compiler.targets.spec import TargetSpec
from rlx_compiler.toolchain import gpu_llvm, llvm

__all__ = ["TARGET"]

_NATIVE: Final = frozenset({"sqrt", "floor", "ceil", "round", "float16"})
_WIDE_WAVES: Final = ("gfx90a", "gfx942")  # 64 threads; later ones have 32


def _describe(device: str) -> TargetSpec:
    device = find_device("rocm", device)
    wave = 64 if device in _WIDE_WAVES else 32
    return grid_spec("rocm", device, threads=1024, shared_bytes=64 << 10, subgroup=wave, native=_NATIVE, location="HBM")


def _emit(program: Program, spec: TargetSpec) -> Mapping[str, str]:
    return {"kernel.ll": emit_grid(program, spec, AMDGPU)}


def _build(sources: Mapping[str, str], spec: TargetSpec, opt_level: int, scratch: Path) -> Built:
    text = sources["kernel.ll"]
    code = gpu_llvm.object_file(text, AMDGPU.triple, spec.cpu, "", max(1, opt_level))
    (scratch / "kernel.o").write_bytes(code)
    linked = link.code_object("kernel.o", scratch)
    count = text.count(f"define {AMDGPU.kernel} ")
    return Built(
        {"kernel.ll": text.encode(), "kernel.hsaco": linked}, {"accepted_by": link.version(), "kernels": count}
    )


@cache
def _toolchain() -> Sequence[str]:
    return (llvm.version(), link.version())


TARGET: Final = Target("rocm", _describe, _emit, _build, _toolchain)
