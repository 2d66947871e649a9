"""The primitives that change a plan. Each keeps the meaning: a plan only says in which order and width things happen.

`tile_layout`, `compute_schedule` and `memory_coalesce` are arguments of these, and so is what the cost model chooses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rlx_compiler.schedule.plan import Loop, Packing, Plan

__all__ = ["in_registers", "pack", "parallel", "reorder", "serial", "split", "stage", "unroll", "vectorise"]


def split(plan: Plan, axis: str, size: int) -> Plan:
    """Cut an axis of the result into blocks of `size`; a new loop, innermost."""
    return replace(plan, loops=(*plan.loops, Loop(axis, size)))


def stage(plan: Plan, axis: str, size: int) -> Plan:
    """Cut a summed axis into blocks of `size`, so that so much of the operands is near at a time."""
    return replace(plan, reduce_loops=(*plan.reduce_loops, Loop(axis, size)))


def reorder(plan: Plan, order: Sequence[str]) -> Plan:
    """Loops over the named axes in this order, outermost first; the others keep their places after them.

    The loops over one axis keep their order among themselves.
    """
    rank = {axis: place for place, axis in enumerate(order)}

    def sorted_loops(loops: tuple[Loop, ...]) -> tuple[Loop, ...]:
        named = iter(sorted((loop for loop in loops if loop.axis in rank), key=lambda loop: rank[loop.axis]))
        return tuple(next(named) if loop.axis in rank else loop for loop in loops)

    return replace(plan, loops=sorted_loops(plan.loops), reduce_loops=sorted_loops(plan.reduce_loops))


def parallel(plan: Plan, axes: Sequence[str]) -> Plan:
    """Share the outermost loops over these axes among the team; they move outside of all others, in this order."""
    shared: list[Loop] = []
    rest = list(plan.loops)
    for axis in axes:
        loop = next((loop for loop in rest if loop.axis == axis), None)
        if loop is not None:
            rest.remove(loop)
            shared.append(replace(loop, kind="parallel"))
    return replace(plan, loops=(*shared, *rest))


def serial(plan: Plan) -> Plan:
    """All loops in order, for a nest inside of a kernel that shares its work already."""
    loops = tuple(replace(loop, kind="serial") if loop.kind == "parallel" else loop for loop in plan.loops)
    return replace(plan, loops=loops)


def unroll(plan: Plan, axis: str, count: int) -> Plan:
    """Write `count` turns of the innermost loop over a summed axis one after the other."""
    loops: list[Loop] = []
    for loop in plan.reduce_loops:
        if loop == Loop(axis, 1):
            loops += [Loop(axis, count), Loop(axis, 1, "unrolled")]
        else:
            loops.append(loop)
    return replace(plan, reduce_loops=tuple(loops))


def vectorise(plan: Plan, axis: str, lanes: int) -> Plan:
    """Compute `lanes` neighbours along an axis at once."""
    return replace(plan, vector=axis, lanes=lanes)


def in_registers(plan: Plan, axis: str, count: int) -> Plan:
    """Write out `count` steps along an axis beside the vectors: each has accumulators of its own."""
    return replace(plan, loops=(*plan.loops, Loop(axis, count)), pixel=axis)


def pack(plan: Plan, packing: Packing) -> Plan:
    """Store a constant in the order in which the nest reads it."""
    return replace(plan, packings=(*plan.packings, packing))
