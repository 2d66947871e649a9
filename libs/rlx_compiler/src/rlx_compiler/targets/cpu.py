"""What the named levels of x86-64 mean for code, whichever emitter writes it."""

from __future__ import annotations

import platform
from typing import Final

from rlx_base.errors import CompileError
from rlx_compiler.options import HOST
from rlx_compiler.targets.spec import MemorySpace, TargetSpec
from rlx_ir.op import nearest
from rlx_wire.cpu import LEVELS, host_features, level_for

__all__ = ["MACHINE", "TRIPLE", "X86_LEVELS", "describe_x86"]

MACHINE: Final = "x86_64"
TRIPLE: Final = "x86_64-unknown-linux-gnu"
# bits of a vector register, how many there are
_VECTORS: Final = {"x86-64": (128, 16), "x86-64-v2": (128, 16), "x86-64-v3": (256, 16), "x86-64-v4": (512, 32)}
X86_LEVELS: Final = tuple(name for name in LEVELS if name in _VECTORS)
_MAIN_MEMORY: Final = MemorySpace("global", "DDR", coherence="MESI")


def describe_x86(target: str, cpu: str, levels: tuple[str, ...]) -> TargetSpec:
    """The spec of a named level, or of this machine's. Raises E202 for a CPU that is not among `levels`."""
    if cpu == HOST:
        if platform.machine() != MACHINE:
            raise CompileError("E202", target=target, cpu=platform.machine(), hint="", known=", ".join(levels))
        cpu = level_for(host_features(), MACHINE).name
        # A host below the lowest level of the target cannot run what it makes; it can still compile it.
        cpu = cpu if cpu in levels else levels[0]
    if cpu not in levels:
        raise CompileError("E202", target=target, cpu=cpu, hint=nearest(cpu, levels), known=", ".join(levels))
    features = LEVELS[cpu].features
    bits, registers = _VECTORS[cpu]
    native = {"sqrt"}
    if "sse4.1" in features:
        native |= {"floor", "ceil", "round"}
    if "f16c" in features:
        native |= {"float16"}
    return TargetSpec(
        target=target,
        cpu=cpu,
        features=features,
        vector_bits=bits,
        vector_registers=registers,
        fma="fma" in features,
        # Modest figures that every CPU of a level has, so that tiles fit everywhere.
        l1_bytes=32 << 10,
        l2_bytes=1 << 20 if bits == 512 else 256 << 10,
        native=frozenset(native),
        spaces=(_MAIN_MEMORY,),
    )
