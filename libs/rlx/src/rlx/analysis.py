"""What a model's kernels ask of a device: work, traffic, and which of the two bounds them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rlx_base.dtypes import FLOAT32
from rlx_compiler import CompileOptions
from rlx_compiler.pipeline import lower
from rlx_compiler.targets import resolve
from rlx_compiler.targets.spec import TargetSpec
from rlx_ir.module import Module
from rlx_ir.tiles import legal_tiles
from rlx_ir.types import TensorType

__all__ = ["Analysis", "KernelAnalysis", "LegalTile", "analyze", "tiles_of"]

# One core's memory traffic in a cycle, about: 3 GHz and the 24 GB/s that one core draws from DDR.
_BYTES_PER_CYCLE = 8.0
_REGISTERS = re.compile(r"registers: (.*), expected (\d+) % of peak")


@dataclass(frozen=True, slots=True)
class KernelAnalysis:
    """One kernel. `intensity` is FLOP per byte; `peak` the share of the arithmetic peak that its tile can reach."""

    name: str
    ops: tuple[str, ...]
    threads: str
    tile: str
    registers: str
    flops: int
    bytes: int
    intensity: float
    bound: str
    peak: float | None


@dataclass(frozen=True, slots=True)
class LegalTile:
    """What a `tile_layout` may say of one operand of an op: the largest block of each axis, from 1 on."""

    value: str
    op: str
    operand: str
    sizes: dict[str, int | str]


@dataclass(frozen=True, slots=True)
class Analysis:
    """A model on a target. Below `ridge` FLOP per byte a kernel waits for memory."""

    model: str
    target: str
    cpu: str
    ridge: float
    kernels: tuple[KernelAnalysis, ...]
    limits: tuple[str, ...]
    splittable: dict[str, bool]


def analyze(module: Module, options: CompileOptions) -> Analysis:
    """The kernels as they would be compiled; no code is made. Raises as compiling does."""
    spec = resolve(options).spec
    report = lower(module, spec, options).report
    ridge = _ridge(spec)
    kernels = tuple(_kernel(kernel, ridge) for kernel in report["kernels"])
    ops = {node.op.name: type(node.op).splittable for part in module.modules() for node in part.nodes}
    return Analysis(module.name, spec.target, spec.cpu, ridge, kernels, tuple(report["warnings"]), ops)


def tiles_of(module: Module) -> tuple[LegalTile, ...]:
    """Of the program as it is written, in its order."""
    return tuple(
        LegalTile(node.name, node.op.name, operand, {k: v if isinstance(v, int) else str(v) for k, v in axes.items()})
        for part in module.modules()
        for node in part.nodes
        if all(isinstance(result.type, TensorType) for result in node.results)
        for operand, axes in legal_tiles(
            node.op, part.operand_types(node), [r.type for r in node.results if isinstance(r.type, TensorType)]
        ).items()
    )


def _ridge(spec: TargetSpec) -> float:
    """Two vector operations a cycle, each a multiply and an add where the device fuses them, over the traffic."""
    return 2 * spec.lanes(FLOAT32) * (2 if spec.fma else 1) / _BYTES_PER_CYCLE


def _kernel(kernel: dict[str, Any], ridge: float) -> KernelAnalysis:
    schedule = kernel["schedule"]
    found = next(filter(None, map(_REGISTERS.search, kernel["reasons"])), None)
    intensity = kernel["flops"] / kernel["bytes"] if kernel["bytes"] else 0.0
    return KernelAnalysis(
        kernel["name"],
        tuple(kernel["ops"]),
        ", ".join(loop.removesuffix(" parallel") for loop in schedule["loops"] if loop.endswith(" parallel")) or "one",
        ", ".join(_tile(schedule)) or "none",
        found[1] if found else f"{schedule['lanes']} lanes",
        kernel["flops"],
        kernel["bytes"],
        intensity,
        "compute" if intensity >= ridge else "memory",
        int(found[2]) / 100 if found else None,
    )


def _tile(schedule: dict[str, Any]) -> Iterator[str]:
    """The block of each axis: what its outermost loop leaves for the loops inside."""
    seen: set[str] = set()
    for loop in schedule["loops"]:
        axis, _, size = loop.partition(" by ")
        if axis not in seen:
            seen.add(axis)
            yield f"{axis} {size.split()[0]}"
