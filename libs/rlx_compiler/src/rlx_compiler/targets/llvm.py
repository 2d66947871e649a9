"""The `llvm` target: x86-64 code by LLVM, as a shared library beside its LLVM IR.

A level (`llvm:x86-64-v4`) is scheduled for no processor in particular; a processor (`llvm:skylake-avx512`,
`llvm:znver4`) for its own timing, with the features that it has beyond its level.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from rlx_compiler.emit.llvm import X86_64
from rlx_compiler.targets.cpu import describe_x86
from rlx_compiler.targets.elf import shared_library_target
from rlx_compiler.targets.spec import TargetSpec

__all__ = ["TARGET"]


def _describe(cpu: str) -> TargetSpec:
    return describe_x86("llvm", cpu)


TARGET: Final = replace(shared_library_target("llvm", _describe, X86_64), host_ops=True)
