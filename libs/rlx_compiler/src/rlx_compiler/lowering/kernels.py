"""One stage as one scheduled kernel: physical, collapsed, planned, packed, and nested."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from rlx_compiler.loops.grid import on_grid
from rlx_compiler.loops.ir import Buffer, Kernel
from rlx_compiler.lowering.collapse import collapse
from rlx_compiler.lowering.grid import build_grid_kernel
from rlx_compiler.lowering.nest import build_kernel
from rlx_compiler.lowering.packing import with_packings
from rlx_compiler.lowering.storage import Stage, physical
from rlx_compiler.lowering.substitute import read_tensors, reduces
from rlx_compiler.lowering.values import NotVectorisable
from rlx_compiler.schedule.asked import Asked
from rlx_compiler.schedule.choose import choose, scalar_plan
from rlx_compiler.schedule.effort import Effort
from rlx_compiler.schedule.grid import choose_grid
from rlx_compiler.schedule.grid_plan import GridPlan
from rlx_compiler.schedule.plan import Packing, Plan
from rlx_compiler.targets.spec import TargetSpec
from rlx_ir import expr as ir
from rlx_ir.expr import Tensor
from rlx_ir.layout import Layout

__all__ = ["Lowered", "Part", "elements", "flops", "lower_stage", "lower_stored"]


@dataclass(frozen=True, slots=True)
class Part:
    """One stage of a kernel that computes several: how, and why."""

    name: str
    plan: Plan
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lowered:
    """A kernel with, for each parameter, the value it stands for and the packing it wants; and its cost.

    `parts` are the stages of a kernel that has more than one; `plan` is then the last one's.
    """

    kernel: Kernel
    values: tuple[str, ...]
    packings: tuple[Packing | None, ...]
    plan: Plan | GridPlan
    reasons: tuple[str, ...]
    flops: int
    bytes: int
    parts: tuple[Part, ...] = ()


def lower_stage(
    defined: Tensor,
    name: str,
    layouts: Mapping[str, Layout | None],
    params: Mapping[str, str],
    constants: Collection[str],
    spec: TargetSpec,
    asked: Asked,
    effort: Effort,
) -> Lowered:
    """The kernel of a stage. `params` names the parameter of each value; `constants` may be stored in any order."""
    stage = collapse(physical(defined, layouts), asked.named)
    if spec.threads_per_block is not None and spec.threads_per_block > 1:
        grid = choose_grid(stage, spec, asked, effort, name)
        return _finished(stage, grid.plan, grid.reasons, name, params)
    lowered = lower_stored(stage, name, params, constants, spec, asked, effort)
    if spec.threads_per_block is None:
        return lowered
    return replace(lowered, kernel=on_grid(lowered.kernel, spec.threads_per_block))


def lower_stored(
    stage: Stage,
    name: str,
    params: Mapping[str, str],
    constants: Collection[str],
    spec: TargetSpec,
    asked: Asked,
    effort: Effort,
) -> Lowered:
    """The kernel, for a CPU, of a stage that is already written in stored indices."""
    chosen = choose(stage, spec, constants, asked, effort)
    try:
        return _finished(stage, chosen.plan, chosen.reasons, name, params)
    except NotVectorisable:
        reasons = (*chosen.reasons, "scalar after all: lanes are not evenly spaced in memory")
        return _finished(stage, scalar_plan(stage, asked), reasons, name, params)


def _finished(
    stage: Stage, plan: Plan | GridPlan, reasons: tuple[str, ...], name: str, params: Mapping[str, str]
) -> Lowered:
    wanted = plan.packings if isinstance(plan, Plan) else ()
    packings = {packing.tensor.name: packing for packing in wanted}
    packed = with_packings(stage, wanted)
    tensors = [*(t for t in read_tensors([packed.body])), packed.output]
    buffers: dict[Tensor, Buffer] = {}
    for tensor in tensors:
        access = "write" if tensor == packed.output else "read"
        buffers[tensor] = Buffer(params[tensor.name], tensor.dtype, tensor.shape, "global", access)  # type: ignore[arg-type]
    if isinstance(plan, Plan):
        kernel = build_kernel(packed, plan, name, buffers)
    else:
        kernel = build_grid_kernel(packed, plan, name, buffers)
    return Lowered(
        kernel,
        tuple(tensor.name for tensor in tensors),
        tuple(packings.get(tensor.name) for tensor in tensors),
        plan,
        reasons,
        flops(stage),
        sum(elements(t.shape) * t.dtype.itemsize for t in {t.name: t for t in tensors}.values()),
    )


def elements(shape: tuple[object, ...]) -> int:
    """How many elements a known shape has."""
    count = 1
    for size in shape:
        assert isinstance(size, int)
        count *= size
    return count


def flops(stage: Stage) -> int:
    """Scalar operations on values (not on indices): each as often as its loops run, a sum once however often it is
    read."""

    def count(expr: ir.Expr) -> int:
        match expr:
            case ir.Reduce():
                return 0
            case ir.Apply("select", (_, then, otherwise)):
                return count(then) + count(otherwise)
            case ir.Apply(_, arguments) if expr.dtype.is_float or arguments[0].dtype.is_float:
                return 1 + sum(count(a) for a in arguments)
            case ir.Read():
                return 0
        return sum(count(child) for child in ir.children(expr))

    def summed(reduce: ir.Reduce) -> int:
        return (count(reduce.body) + 1) * elements(tuple(axis.extent for axis in reduce.axes))

    one = count(stage.body) + sum(map(summed, reduces(stage.body)))
    return elements(tuple(axis.extent for axis in stage.axes)) * one
