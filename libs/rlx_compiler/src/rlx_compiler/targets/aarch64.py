"""The `aarch64` target: code by LLVM for 64-bit Arm, with NEON's 32 registers of 128 bits."""

from __future__ import annotations

from typing import Final

from rlx_compiler.emit.llvm import AARCH64
from rlx_compiler.targets.cpu import MAIN_MEMORY, named_cpu
from rlx_compiler.targets.elf import shared_library_target
from rlx_compiler.targets.spec import TargetSpec

__all__ = ["TARGET"]


def _describe(asked: str) -> TargetSpec:
    cpu = named_cpu("aarch64", asked, "aarch64")
    return TargetSpec(
        target="aarch64",
        cpu=cpu.name,
        features=cpu.features,
        vector_bits=128,
        vector_registers=32,
        fma=True,
        l1_bytes=32 << 10,
        l2_bytes=256 << 10,
        native=frozenset({"sqrt", "floor", "ceil", "round", "float16"}),
        spaces=(MAIN_MEMORY,),
    )


TARGET: Final = shared_library_target("aarch64", _describe, AARCH64)
