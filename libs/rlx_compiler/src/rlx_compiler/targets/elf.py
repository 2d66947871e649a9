"""What the targets share whose code is a shared library by LLVM: x86-64, AArch64 and RISC-V differ in a table each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from rlx_compiler import link
from rlx_compiler.emit import llvm
from rlx_compiler.loops.program import Program
from rlx_compiler.targets.registry import Built, Target
from rlx_compiler.targets.spec import TargetSpec
from rlx_compiler.toolchain import llvm as codegen

__all__ = ["shared_library_target"]


def shared_library_target(name: str, describe: Callable[[str], TargetSpec], machine: llvm.Machine) -> Target:
    """A target whose bundle holds `librlx_kernel.so` and the LLVM IR that it was made from, as text and as bitcode."""

    def emit(program: Program, spec: TargetSpec) -> Mapping[str, str]:
        return llvm.emit(program, spec, machine)

    def build(sources: Mapping[str, str], spec: TargetSpec, opt_level: int, scratch: Path) -> Built:
        code = codegen.compile_ir(sources["kernel.ll"], machine, spec, opt_level)
        (scratch / "kernel.o").write_bytes(code.object)
        library = link.shared_library(["kernel.o"], scratch)
        return Built({link.LIBRARY: library, "kernel.ll": sources["kernel.ll"].encode(), "kernel.bc": code.bitcode})

    def toolchain() -> Sequence[str]:
        return (codegen.version(), link.version())

    return Target(name, describe, emit, build, toolchain)
