"""The `llvm` target: x86-64 code by LLVM, as a shared library beside its LLVM IR."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from rlx_compiler import link
from rlx_compiler.emit import llvm
from rlx_compiler.targets.cpu import TRIPLE, describe_x86
from rlx_compiler.targets.registry import Built, Target
from rlx_compiler.targets.spec import TargetSpec
from rlx_compiler.toolchain import llvm as codegen

__all__ = ["TARGET"]

_LEVELS: Final = ("x86-64-v2", "x86-64-v3", "x86-64-v4")


def _describe(cpu: str) -> TargetSpec:
    return describe_x86("llvm", cpu, _LEVELS)


def _build(sources: Mapping[str, str], spec: TargetSpec, opt_level: int, scratch: Path) -> Built:
    code = codegen.compile_ir(sources["kernel.ll"], TRIPLE, spec, opt_level)
    (scratch / "kernel.o").write_bytes(code.object)
    library = link.shared_library(["kernel.o"], scratch)
    return Built({link.LIBRARY: library, "kernel.ll": sources["kernel.ll"].encode(), "kernel.bc": code.bitcode})


def _toolchain() -> Sequence[str]:
    return (codegen.version(), link.version())


TARGET: Final = Target("llvm", _describe, llvm.emit, _build, _toolchain)
