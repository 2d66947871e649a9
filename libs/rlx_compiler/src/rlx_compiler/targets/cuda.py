"""The `cuda` target: PTX by LLVM, which any later GPU's driver takes, and the cubin of the GPU asked for by ptxas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from rlx_compiler.emit.llvm.gpu import NVPTX
from rlx_compiler.emit.llvm.grid import emit_grid
from rlx_compiler.loops.program import Program
from rlx_compiler.targets.cpu import find_device
from rlx_compiler.targets.grid_device import grid_spec
from rlx_compiler.targets.registry import Built, Target
from rlx_compiler.targets.spec import TargetSpec
from rlx_compiler.toolchain import gpu_llvm, llvm, ptxas

__all__ = ["TARGET"]

_NATIVE: Final = frozenset({"sqrt", "floor", "ceil", "round", "float16"})
# The PTX version that first knows a GPU.
_PTX: Final = {"sm_75": "+ptx78", "sm_80": "+ptx78", "sm_90": "+ptx80", "sm_100": "+ptx86", "sm_120": "+ptx87"}


def _describe(device: str) -> TargetSpec:
    """48 KiB of shared memory is what a kernel has without asking for more at its launch."""
    device = find_device("cuda", device)
    return grid_spec("cuda", device, threads=1024, shared_bytes=48 << 10, subgroup=32, native=_NATIVE)


def _emit(program: Program, spec: TargetSpec) -> Mapping[str, str]:
    return {"kernel.ll": emit_grid(program, spec, NVPTX)}


def _build(sources: Mapping[str, str], spec: TargetSpec, opt_level: int, scratch: Path) -> Built:
    text = sources["kernel.ll"]
    ptx = gpu_llvm.assembly(text, NVPTX.triple, spec.cpu, _PTX[spec.cpu], max(1, opt_level))
    (scratch / "kernel.ptx").write_text(ptx)
    cubin, used = ptxas.assemble("kernel.ptx", spec.cpu, scratch)
    files = {"kernel.ll": text.encode(), "kernel.ptx": ptx.encode(), "kernel.cubin": cubin}
    return Built(files, {"accepted_by": ptxas.version(), "kernels": used})


@cache
def _toolchain() -> Sequence[str]:
    return (llvm.version(), ptxas.version())


TARGET: Final = Target("cuda", _describe, _emit, _build, _toolchain, host_ops=True)
