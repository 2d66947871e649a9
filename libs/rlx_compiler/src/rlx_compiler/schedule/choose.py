"""Choosing a plan: what the author asked for is taken, the rest comes from how the stage's reads move through memory.

1. The vector axis (`schedule.vectors`).
2. The register tile (`schedule.tiles`), which weighs loads against arithmetic.
3. The loops: blocks asked for, then panels of what is reused (weights), then the result's own order.
4. The loops over summed axes (`schedule.sum_loops`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from math import gcd, prod
from typing import Final

from rlx_compiler.lowering.segments import segments
from rlx_compiler.lowering.storage import Stage
from rlx_compiler.schedule import primitives
from rlx_compiler.schedule.asked import NOTHING_ASKED, Asked
from rlx_compiler.schedule.effort import FULL, Effort
from rlx_compiler.schedule.facts import Facts
from rlx_compiler.schedule.plan import Loop, Packing, Plan
from rlx_compiler.schedule.prefetch import fetched_ahead
from rlx_compiler.schedule.sum_loops import with_sum_loops
from rlx_compiler.schedule.tiles import copies, pixel_axis, row_of, tile_of
from rlx_compiler.schedule.vectors import lanes_of, vector_axis
from rlx_compiler.targets.spec import TargetSpec

__all__ = ["Chosen", "choose", "scalar_plan"]

_FEW_TASKS: Final = 32  # fewer than this leave members of a team idle
_MOST_TASKS: Final = 128  # more than this only cost
_SMALL: Final = 2048  # elements of result · terms below which sharing costs more than it gives
_MOST_COPIES: Final = 32  # of the innermost code, for the rests of blocks that do not divide


@dataclass(frozen=True, slots=True)
class Chosen:
    """A plan and, for the report, why."""

    plan: Plan
    reasons: tuple[str, ...] = field(default=())


def scalar_plan(stage: Stage, asked: Asked = NOTHING_ASKED) -> Plan:
    """The plan without vectors that every stage has."""
    plan = Plan(tuple(Loop(axis.name, 1) for axis in stage.axes))
    axes = [axis.name for axis in stage.axes]
    plan = primitives.reorder(plan, [name for name in asked.order if name in axes])
    outermost = next((axis.name for axis in stage.axes if axis.extent != 1), None)
    return primitives.parallel(plan, [a for a in asked.parallel if a in axes] or ([outermost] if outermost else []))


def choose(
    stage: Stage,
    spec: TargetSpec,
    constants: Collection[str],
    asked: Asked = NOTHING_ASKED,
    effort: Effort = FULL,
) -> Chosen:
    """The plan of a stage. `constants` are the tensors whose order in memory is free."""
    facts = Facts(stage, spec, constants if effort.pack else (), asked, effort)
    plan = _plan(facts)
    return Chosen(plan, tuple(facts.reasons))


def _plan(facts: Facts) -> Plan:
    allowed = facts.effort.vectors or facts.asked.vector is not None or facts.asked.vector_bytes is not None
    lanes = lanes_of(facts) if allowed else 1
    vector = vector_axis(facts) if lanes > 1 else _innermost(facts)
    if not allowed:
        facts.reasons.append("scalars: vectors begin at optimisation level 3")
    elif vector is None:
        facts.reasons.append("scalars: no axis along which all reads are evenly spaced")
    if vector is None:
        return with_sum_loops(scalar_plan(facts.stage, facts.asked), facts, 1)
    if vector in facts.summed:
        facts.reasons.append(f"partial sums in {lanes} lanes along {vector}: its terms are neighbours in memory")
        plan = primitives.vectorise(scalar_plan(facts.stage, facts.asked), vector, lanes)
        return with_sum_loops(plan, facts, 1)
    if facts.asked.vector_bytes is not None:
        facts.reasons.append(f"vectors of {lanes} lanes: memory_coalesce.width={facts.asked.vector_bytes}")
    pixel = pixel_axis(facts, vector)
    before = tuple(facts.reasons)
    plan = _tiled(facts, vector, lanes, pixel)
    if copies(plan, facts) > _MOST_COPIES:
        facts.reasons = list(before)
        facts.forget_blocks([name for name in (vector, pixel) if name is not None])
        plan = _tiled(facts, vector, lanes, pixel)
    return plan


def _innermost(facts: Facts) -> str | None:
    """The axis whose scalars stand side by side in registers, where there are sums to reuse loads in."""
    axes = [name for name in facts.result if facts.size(name) > 1]
    return axes[-1] if axes and facts.summed and facts.effort.unroll else None


def _tiled(facts: Facts, vector: str, lanes: int, pixel: str | None) -> Plan:
    """Vectors along one axis, another one unrolled beside them, everything else in loops around."""
    lanes = min(lanes, 1 << (row_of(facts, vector).bit_length() - 1))
    tile = tile_of(facts, vector, pixel, lanes)
    row = tile.vectors * lanes
    plan = _with_loops(primitives.vectorise(Plan(()), vector, lanes), facts, row, pixel, tile.pixels)
    plan = with_sum_loops(plan, facts, tile.vectors * tile.pixels)
    packings = _packings(plan, facts, row)
    for packing in packings:
        plan = primitives.pack(plan, packing)
        facts.reasons.append(f"{packing.tensor.name} packed in panels of {packing.block}")
    return replace(plan, ahead=fetched_ahead(plan, facts, packings))


def _with_loops(plan: Plan, facts: Facts, row: int, pixel: str | None, pixels: int) -> Plan:
    """Blocks, then the register tile's loops; the outermost ones parallel."""
    asked, vector = facts.asked, plan.vector
    assert vector is not None
    for name in facts.result:
        if asked.blocks.get(name, facts.size(name)) < facts.size(name):
            plan = primitives.split(plan, name, asked.blocks[name])
    for name in facts.result:
        near = asked.staging.get(name)
        if near is not None and near < asked.blocks.get(name, facts.size(name)):
            plan = primitives.split(plan, name, near)
    others = [name for name in facts.result if name not in (vector, pixel) and facts.size(name) > 1]
    inner = [Loop(name, 1) for name in others]
    rows = [Loop(vector, row)]
    for loop in [*rows, *inner] if _has_panel(facts, vector, others) else [*inner, *rows]:
        plan = primitives.split(plan, loop.axis, loop.size)
    if pixel is not None:
        plan = primitives.in_registers(plan, pixel, pixels)
    plan = primitives.reorder(plan, [name for name in asked.order if name in facts.result])
    axes = _parallel_axes(plan, facts)
    return primitives.parallel(plan if asked.parallel else _coarser(plan, facts, axes), axes)


def _has_panel(facts: Facts, vector: str, others: Sequence[str]) -> bool:
    """Whether a block of some operand along the vector axis serves everything else, and so is kept near: weights do,
    but not those of a depthwise convolution, whose other operand moves along that axis too."""
    moving = [access for access in facts.terms if access.strides.get(vector) != 0]
    serves = any(all(access.strides.get(name) == 0 for name in others) for access in moving)
    return serves and len(moving) < len(facts.terms)


def _parallel_axes(plan: Plan, facts: Facts) -> list[str]:
    """The axes whose outermost loops a team shares: as asked, else as many as give every member work."""
    if facts.asked.parallel:
        for name in facts.asked.parallel:
            summed = name in facts.summed
            facts.reasons.append(
                f"{name} not parallel: its terms add up in one place" if summed else f"parallel over {name}: asked for"
            )
        return [name for name in facts.asked.parallel if name in facts.result]
    if prod(max(1, facts.size(name)) for name in facts.axes) < _SMALL:
        facts.reasons.append("one thread: too little work to share")
        return []
    tasks, axes = 1, []
    for loop in plan.loops:
        tiled = loop.axis in (plan.vector, plan.pixel)
        if loop.axis in axes or tasks >= _FEW_TASKS:
            break
        if tiled and len(segments(facts.stage, facts.axes[loop.axis])) > 1:
            break
        if facts.size(loop.axis) > loop.size:
            axes.append(loop.axis)
            tasks *= -(-facts.size(loop.axis) // loop.size)
    return axes


def _coarser(plan: Plan, facts: Facts, axes: Sequence[str]) -> Plan:
    """Many small tasks of one axis as a few larger ones: its loop is cut once more, outside of all."""
    if not axes or axes[-1] in facts.asked.named or plan.loops[0].axis in facts.asked.named:
        return plan
    outermost = {name: next(loop.size for loop in plan.loops if loop.axis == name) for name in axes}
    tasks = prod(-(-facts.size(name) // size) for name, size in outermost.items())
    turns, last = tasks // _MOST_TASKS, axes[-1]
    if turns < 2:
        return plan
    place = next(i for i, loop in enumerate(plan.loops) if loop.axis == last)
    block = Loop(last, outermost[last] * turns)
    return replace(plan, loops=(*plan.loops[:place], block, *plan.loops[place:]))


def _packings(plan: Plan, facts: Facts, row: int) -> list[Packing]:
    """Constants in the order of the loops: a block of the vector axis outermost, its places innermost."""
    vector = plan.vector
    assert vector is not None
    place = {loop.axis: rank for rank, loop in enumerate((*plan.loops, *plan.reduce_loops))}
    block = gcd(*(min(size, facts.size(vector)) for size in plan.loop_sizes(vector)))
    found: dict[str, Packing] = {}
    for access in facts.terms:
        if facts.packable(access, vector) and access.tensor.name not in found:
            own = access.plain.index(vector)
            rest = [dim for dim in range(len(access.plain)) if dim != own]
            rest.sort(key=lambda dim: place.get(str(access.plain[dim]), -1))
            found[access.tensor.name] = Packing(access.tensor, (*rest, own), block if block % plan.lanes == 0 else row)
    return list(found.values())
