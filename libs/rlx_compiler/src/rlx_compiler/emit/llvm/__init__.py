"""LLVM IR as text: explicit vectors, loops as plain blocks, registers as allocas that one cheap pass promotes."""

from rlx_compiler.emit.llvm.module import emit

__all__ = ["emit"]
