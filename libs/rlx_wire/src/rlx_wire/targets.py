"""The targets by name and the devices of each: what a job may ask for, before any compiler looks at it.

A target is written `llvm`, or with the device that code is made for: `llvm:x86-64-v4`, `cuda:sm_90`. The compiler's own
table of a target says what such a name means; here are the names alone, for the API, its clients and the queues.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from rlx_wire.cpu import CPUS, LEVELS

__all__ = ["COMPILE_TARGETS", "TARGETS", "TargetNames", "required_features"]


@dataclass(frozen=True, slots=True)
class TargetNames:
    """What may stand after a target's colon. `default` is taken where nothing does; None: what the nodes have."""

    devices: tuple[str, ...]
    default: str | None = None


def _cpus(machine: str) -> tuple[str, ...]:
    return tuple(cpu.name for cpu in CPUS.values() if cpu.machine == machine)


# A CPU behind an OpenCL driver is meant by its level.
_OPENCL_CPUS: Final = ("x86-64-v2", "x86-64-v3", "x86-64-v4")

TARGETS: Final[Mapping[str, TargetNames]] = {
    # The lowest level has no instruction to round by, and next to no machine has only that.
    "llvm": TargetNames(tuple(name for name in _cpus("x86_64") if name != "x86-64")),
    # Portable C has no vectors and assumes nothing of the CPU.
    "c": TargetNames((*(name for name in _cpus("x86_64") if name in LEVELS), "portable")),
    "aarch64": TargetNames(_cpus("aarch64"), "armv8-a"),
    "riscv64": TargetNames(_cpus("riscv64"), "rv64gc"),
    "wasm": TargetNames(("simd128", "relaxed-simd"), "simd128"),
    "opencl": TargetNames(("generic", *_OPENCL_CPUS), "generic"),
    "vulkan": TargetNames(("generic",), "generic"),
    "webgpu": TargetNames(("generic",), "generic"),
    "cuda": TargetNames(("sm_75", "sm_80", "sm_90", "sm_100", "sm_120"), "sm_80"),
    "rocm": TargetNames(("gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201"), "gfx90a"),
    "metal": TargetNames(("generic",), "generic"),
}
COMPILE_TARGETS: Final = tuple(TARGETS)


def required_features(target: str, device: str) -> frozenset[str] | None:
    """The CPU features that code for a device needs: none for what is no CPU. None for a name that is not known."""
    if device in CPUS:
        return CPUS[device].features
    return frozenset() if target in TARGETS and device in TARGETS[target].devices else None
