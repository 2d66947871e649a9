"""What a named CPU means for code, whichever emitter writes it."""

from __future__ import annotations

import platform
from typing import Final

from rlx_base.errors import CompileError
from rlx_compiler.options import HOST
from rlx_compiler.targets.spec import MemorySpace, TargetSpec
from rlx_ir.op import nearest
from rlx_wire.cpu import CPUS, CpuLevel, host_features, level_for
from rlx_wire.targets import TARGETS

__all__ = ["MAIN_MEMORY", "X86_LEVELS", "describe_x86", "find_device", "named_cpu"]

MAIN_MEMORY: Final = MemorySpace("global", "DDR", coherence="MESI")
# By level: bits of a vector register, how many there are.
_VECTORS: Final = {"x86-64": (128, 16), "x86-64-v2": (128, 16), "x86-64-v3": (256, 16), "x86-64-v4": (512, 32)}
X86_LEVELS: Final = tuple(_VECTORS)


def find_device(target: str, asked: str) -> str:
    """The device by its name, the target's own choice for `host`. Raises E202 for one that it does not have."""
    known = TARGETS[target].devices
    device = TARGETS[target].default if asked == HOST else asked
    if device not in known:
        raise CompileError("E202", target=target, cpu=asked, hint=nearest(asked, known), known=", ".join(known))
    return device


def named_cpu(target: str, asked: str, machine: str) -> CpuLevel:
    """The CPU by its name; `host` is the level of this machine where it is such a one, else the target's own choice.

    Raises E202 for a CPU that the target does not have.
    """
    known = TARGETS[target].devices
    if asked == HOST and platform.machine() == machine:
        level = level_for(host_features(), machine)
        # A host below the lowest level of the target cannot run what it makes; it can still compile it.
        return level if level.name in known else CPUS[known[0]]
    if asked == HOST and TARGETS[target].default is None:
        raise CompileError("E202", target=target, cpu=platform.machine(), hint="", known=", ".join(known))
    return CPUS[find_device(target, asked)]


def describe_x86(target: str, asked: str) -> TargetSpec:
    """The spec of a named x86-64 CPU, or of this machine's level. Raises E202."""
    cpu = named_cpu(target, asked, "x86_64")
    bits, registers = _VECTORS[cpu.level]
    native = {"sqrt"}
    if "sse4.1" in cpu.features:
        native |= {"floor", "ceil", "round"}
    if "f16c" in cpu.features:
        native |= {"float16"}
    return TargetSpec(
        target=target,
        cpu=cpu.name,
        features=cpu.features,
        vector_bits=bits,
        vector_registers=registers,
        fma="fma" in cpu.features,
        # Modest figures that every CPU of a level has, so that tiles fit everywhere.
        l1_bytes=32 << 10,
        l2_bytes=1 << 20 if bits == 512 else 256 << 10,
        native=frozenset(native),
        spaces=(MAIN_MEMORY,),
    )
