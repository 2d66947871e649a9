"""The compile report: for each kernel what it computes, how, and why; for each fusion its figures. It holds no times,
so that the same source gives the same bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rlx_compiler.fusion import Group
from rlx_compiler.lowering.kernels import Part
from rlx_compiler.lowering.module import LoweredModule, Step
from rlx_compiler.options import CompileOptions
from rlx_compiler.schedule.asked import NOTHING_ASKED, Asked
from rlx_compiler.schedule.grid_plan import GridPlan
from rlx_compiler.schedule.plan import Loop, Plan
from rlx_compiler.targets.spec import TargetSpec
from rlx_ir.module import Module
from rlx_ir.passes import Pass

__all__ = ["report_of"]


def report_of(
    module: Module,
    groups: Sequence[Group],
    lowered: LoweredModule,
    spec: TargetSpec,
    options: CompileOptions,
    passes: Sequence[Pass],
    warnings: Sequence[str],
) -> Mapping[str, Any]:
    """Plain data, as `report.json` holds it."""
    program = lowered.program
    return {
        "model": module.name,
        "target": spec.target,
        "cpu": spec.cpu,
        "opt_level": options.opt_level,
        "passes": [one.name for one in passes],
        "warnings": list(warnings),
        "kernels": [_kernel(step, launch.kernel) for step, launch in zip(lowered.steps, program.launches, strict=True)],
        "functions": len(program.kernels),
        "fusion": [
            {"producer": c.producer, "consumer": c.consumer, "fused": c.fused, "reason": c.reason}
            for group in groups
            for c in group.choices
        ],
        "views": dict(lowered.views),
        "memory": {
            "space": spec.spaces[0].location,
            "workspace_bytes": program.workspace_bytes,
            "weights_bytes": program.weights_bytes,
        },
    }


def _kernel(step: Step, function: str) -> Mapping[str, Any]:
    lowered = step.lowered
    return {
        "name": step.name,
        "function": function,
        "ops": list(step.ops),
        "flops": lowered.flops,
        "bytes": lowered.bytes,
        "schedule": _chosen(lowered.plan),
        "asked": _asked(step.asked),
        "reasons": list(lowered.reasons),
        **({"stages": [_part(part) for part in lowered.parts]} if lowered.parts else {}),
        **({} if lowered.kernel.grid is None else {"grid": asdict(lowered.kernel.grid)}),
    }


def _part(part: Part) -> Mapping[str, Any]:
    return {"name": part.name, "schedule": _chosen(part.plan), "reasons": list(part.reasons)}


def _chosen(plan: Plan | GridPlan) -> Mapping[str, Any]:
    if isinstance(plan, GridPlan):
        return {
            "blocks": {spread.axis: spread.tile for spread in plan.spreads},
            "threads": {spread.axis: spread.threads for spread in plan.spreads},
            "in_registers": [axis for axis in (plan.pixel, plan.row) if axis is not None],
            "chunks": dict(plan.chunks) if plan.staged else {},
            "shared_sum": {} if plan.shared_axis is None else {plan.shared_axis: plan.shared_threads},
        }
    return {
        "loops": [_loop(loop) for loop in plan.loops],
        "sums": [_loop(loop) for loop in plan.reduce_loops],
        "vectorize_dim": plan.vector,
        "lanes": plan.lanes,
        "unrolled_dim": plan.pixel,
        "packed": {packing.tensor.name: list(packing.shape) for packing in plan.packings},
    }


def _loop(loop: Loop) -> str:
    return f"{loop.axis} by {loop.size}" + ("" if loop.kind == "serial" else f" {loop.kind}")


def _asked(asked: Asked) -> Mapping[str, Any]:
    """Only what was asked for."""
    if asked == NOTHING_ASKED:
        return {}
    fields = {
        "output_tile": dict(asked.blocks),
        "staging_tile": dict(asked.staging),
        "parallel_dims": list(asked.parallel),
        "vectorize_dim": asked.vector,
        "unroll": dict(asked.unroll),
        "order": list(asked.order),
        "coalesce_bytes": asked.vector_bytes,
    }
    return {name: value for name, value in fields.items() if value}
