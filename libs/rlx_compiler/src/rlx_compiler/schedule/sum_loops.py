"""The loops over summed axes: large steps in memory outside, small ones inside, the innermost partly unrolled."""

from __future__ import annotations

from rlx_compiler.schedule import primitives
from rlx_compiler.schedule.facts import Facts
from rlx_compiler.schedule.plan import Plan

__all__ = ["with_sum_loops"]

_MOST_TURNS = 4  # of a loop that is not unrolled whole: its counter then costs little beside its arithmetic


def with_sum_loops(plan: Plan, facts: Facts, places: int) -> Plan:
    """The plan with loops over the summed axes; `places` is how many accumulators one turn updates."""
    asked, order = facts.asked, _order(plan, facts)
    for name in order:
        near = asked.staging.get(name)
        if near is not None and near < facts.size(name):
            plan = primitives.stage(plan, name, near)
    for name in order:
        plan = primitives.stage(plan, name, 1)
    for name, count in asked.unroll.items():
        if name in order:
            taken = facts.capped(name, count, places)
            plan = primitives.unroll(plan, name, taken)
            places *= taken
    room = max(1, facts.room // max(1, places))
    for name in reversed(order) if facts.effort.unroll else ():
        if name in asked.unroll:
            continue
        whole = facts.size(name) <= min(room, 2 * _MOST_TURNS)
        turns = facts.size(name) if whole else min(_MOST_TURNS, room)
        if turns > 1:
            plan = primitives.unroll(plan, name, turns)
            room //= turns
        if not whole:
            break
    return plan


def _order(plan: Plan, facts: Facts) -> list[str]:
    """The summed axes from outer to inner: as asked, then by how far what is not packed moves along them."""
    own = [name for name in facts.summed if name != plan.vector]
    fixed = [access for access in facts.terms if access.tensor.name not in facts.constants]

    def step(name: str) -> int:
        strides = [access.strides.get(name, 0) for access in fixed or facts.terms]
        return max((1 << 62 if stride is None else abs(stride) for stride in strides), default=0)

    asked = [name for name in facts.asked.order if name in own]
    return asked + sorted((name for name in own if name not in asked), key=lambda name: -step(name))
