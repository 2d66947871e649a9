"""The `riscv64` target: code by LLVM for RV64GC, scalar, or with the vector extension (RVV 1.0)."""

from __future__ import annotations

from typing import Final

from rlx_compiler.emit.llvm import RISCV64
from rlx_compiler.targets.cpu import MAIN_MEMORY, named_cpu
from rlx_compiler.targets.elf import shared_library_target
from rlx_compiler.targets.spec import TargetSpec

__all__ = ["TARGET"]


def _describe(asked: str) -> TargetSpec:
    cpu = named_cpu("riscv64", asked, "riscv64")
    return TargetSpec(
        target="riscv64",
        cpu=cpu.name,
        features=cpu.features,
        # V promises registers of at least 128 bits.
        vector_bits=128 if "v" in cpu.features else 0,
        vector_registers=32,
        fma=True,
        l1_bytes=32 << 10,
        l2_bytes=128 << 10,
        # Rounding needs Zfa and conversions of float16 need Zfhmin, which RV64GC lacks.
        native=frozenset({"sqrt"}),
        spaces=(MAIN_MEMORY,),
    )


TARGET: Final = shared_library_target("riscv64", _describe, RISCV64)
