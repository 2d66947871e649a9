"""The vector axis: the one along which every read and the store are neighbours in memory or do not move."""

from __future__ import annotations

from rlx_compiler.lowering.segments import segments
from rlx_compiler.lowering.substitute import reduces
from rlx_compiler.lowering.values import computed
from rlx_compiler.schedule.facts import Facts

__all__ = ["lanes_of", "vector_axis"]

# What vectors along an axis would cost, in loads of one lane: a read in a sum that is not of neighbours takes one for
# each lane. Beyond _TOO_MUCH scalars are as good.
_SCATTERED_TERM = 8
_SCATTERED_STORE = 2
_GUARDED = 4
_NARROW = 2
_TOO_MUCH = 8
_ACCEPTABLE = 4


def lanes_of(facts: Facts) -> int:
    """How many elements a vector has: as many as a register holds of the widest dtype, or fewer where asked for."""
    widest = max((a.tensor.dtype for a in facts.accesses), key=lambda dtype: computed(dtype).itemsize)
    lanes = facts.spec.lanes(computed(widest))
    if facts.asked.vector_bytes is None:
        return lanes
    wanted = max(1, facts.asked.vector_bytes // facts.stage.output.dtype.itemsize)
    return min(lanes, 1 << (wanted.bit_length() - 1))


def vector_axis(facts: Facts) -> str | None:
    """The axis asked for, else the best one; a summed one where partial sums in lanes are better; None for scalars."""
    if facts.asked.vector is not None:
        facts.reasons.append(f"vectors along {facts.asked.vector}: asked for")
        return facts.asked.vector
    costs = ((_cost(facts, name), -place, name) for place, name in enumerate(facts.result))
    best = min(((cost, place, name) for cost, place, name in costs if cost is not None), default=None)
    summed = _summed_axis(facts)
    if best is not None and best[0] < (_TOO_MUCH if summed is None else _ACCEPTABLE):
        facts.reasons.append(f"innermost {best[2]}: neighbours in memory there")
        return best[2]
    return summed


def _cost(facts: Facts, name: str) -> int | None:
    """What vectors along an axis of the result would cost beyond good ones; None where they are impossible."""
    if facts.size(name) < 2:
        return None
    strides = [facts.stride(access, name) for access in facts.accesses]
    if any(stride is None or stride < 0 for stride in strides):
        return None
    scattered = [a for a, stride in zip(facts.accesses, strides, strict=True) if stride not in (0, 1)]
    cost = sum(_SCATTERED_TERM if access.summed else 1 for access in scattered)
    cost += _SCATTERED_STORE if strides[-1] != 1 else 0
    cost += _GUARDED if len(segments(facts.stage, facts.axes[name])) > 1 else 0
    return cost + (_NARROW if facts.size(name) < 4 else 0)


def _summed_axis(facts: Facts) -> str | None:
    """A summed axis whose terms are neighbours in memory."""
    if len(reduces(facts.stage.body)) != 1:
        return None
    for name in facts.summed:
        strides = [access.strides.get(name) for access in facts.terms]
        if 1 in strides and all(s in (0, 1) for s in strides) and facts.size(name) >= 2 * lanes_of(facts):
            return name
    return None
