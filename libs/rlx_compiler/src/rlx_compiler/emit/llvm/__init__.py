"""LLVM IR as text: explicit vectors, loops as plain blocks, registers as allocas that one cheap pass promotes."""

from rlx_compiler.emit.llvm.machine import AARCH64, RISCV64, WASM32, X86_64, Machine
from rlx_compiler.emit.llvm.module import emit

__all__ = ["AARCH64", "RISCV64", "WASM32", "X86_64", "Machine", "emit"]
