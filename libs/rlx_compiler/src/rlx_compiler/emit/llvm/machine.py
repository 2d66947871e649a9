"""What differs between the machines of LLVM: the triple, a pause between two looks at a barrier, the size of a pointer.

Everything else of the text is the same for each of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rlx_compiler.targets.spec import TargetSpec
from rlx_wire.cpu import CPUS, PROCESSORS

__all__ = ["AARCH64", "RISCV64", "WASM32", "X86_64", "Machine"]


@dataclass(frozen=True, slots=True)
class Machine:
    """One of LLVM's backends.

    `pause` is an intrinsic with its argument, or empty. `generic` is what LLVM calls the CPU of a named level, where
    the level's name is none of LLVM's; `preferences` are features that choose code and that no host has to have. `abi`
    names the calling convention for the object file; `function` are further attributes of every function; `relocation`
    is LLVM's word for whether code may lie anywhere (`pic`) or at a place that the linker chooses (`static`).
    """

    triple: str
    pause: str = ""
    pause_argument: str = ""
    generic: str | None = None
    preferences: tuple[str, ...] = ()
    abi: str = ""
    function: str = ""
    pointer_bytes: int = 8
    relocation: str = "pic"

    def cpu(self, spec: TargetSpec) -> str:
        """LLVM's name of a CPU that has nothing which the spec's features do not name."""
        if self.generic is not None:
            return self.generic
        return CPUS[spec.cpu].level if spec.cpu in CPUS else spec.cpu

    def tuning(self, spec: TargetSpec) -> str:
        """The processor by whose timing code is scheduled; empty for none in particular."""
        return spec.cpu if spec.cpu in PROCESSORS else ""

    def features(self, spec: TargetSpec) -> str:
        """As LLVM takes them: `+avx2,+fma`."""
        return ",".join([*(f"+{name}" for name in sorted(spec.features)), *self.preferences])

    def flags(self) -> list[str]:
        """The module flags that LLVM wants beside the code."""
        return ["!llvm.module.flags = !{!1}", f'!1 = !{{i32 1, !"target-abi", !"{self.abi}"}}'] if self.abi else []


X86_64: Final = Machine("x86_64-unknown-linux-gnu", "llvm.x86.sse2.pause", preferences=("-prefer-256-bit",))
AARCH64: Final = Machine("aarch64-unknown-linux-gnu", "llvm.aarch64.hint", "i32 1", generic="generic")
RISCV64: Final = Machine("riscv64-unknown-linux-gnu", generic="generic-rv64", abi="lp64d")
# The page's own memory is a flat one of 32-bit addresses, whose layout the linker decides.
WASM32: Final = Machine("wasm32-unknown-unknown", generic="generic", pointer_bytes=4, relocation="static")
