"""The register tile: which axis is unrolled beside the vectors, how much of both, and how much code that makes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from rlx_compiler.lowering.segments import segments
from rlx_compiler.schedule.facts import Facts
from rlx_compiler.schedule.plan import Plan
from rlx_compiler.schedule.registers import Reuse, TileChoice, best_tile
from rlx_ir.expr import Apply, Literal, walk

__all__ = ["copies", "pixel_axis", "row_of", "tile_of"]

_ELEMENTWISE_VECTORS: Final = 4


def row_of(facts: Facts, vector: str) -> int:
    """How much of the vector axis is in one block."""
    asked = [sizes[vector] for sizes in (facts.asked.blocks, facts.asked.staging) if vector in sizes]
    return max(1, min(facts.size(vector), *asked) if asked else facts.size(vector))


def pixel_axis(facts: Facts, vector: str) -> str | None:
    """The axis to unroll beside the vectors: as asked, else the one along which most loads are used again."""
    asked = [name for name in facts.asked.unroll if name in facts.result and name != vector]
    if asked:
        return asked[0]
    found: tuple[int, int, str] | None = None
    for place, name in enumerate(facts.result):
        reused = sum(1 for access in facts.terms if access.strides.get(name) == 0)
        if name != vector and facts.size(name) > 1 and reused and (found is None or (reused, place) > found[:2]):
            found = (reused, place, name)
    return None if found is None else found[2]


def tile_of(facts: Facts, vector: str, pixel: str | None, lanes: int) -> TileChoice:
    """How many vectors and pixels one turn computes."""
    asked = facts.asked
    vectors, pixels = -(-row_of(facts, vector) // lanes), 1
    if pixel is not None:
        inner = max((part.size for part in segments(facts.stage, facts.axes[pixel]) if part.known), default=1)
        pixels = max(1, min(inner, asked.blocks.get(pixel, inner), asked.staging.get(pixel, inner)))
    if facts.summed:
        registers = min(facts.spec.vector_registers, facts.room + 1)
        unit = 1 if pixel is None else _unit(facts, pixel)
        chosen = best_tile(vectors, pixels, _reuse(facts, vector, pixel), registers, unit)
    else:
        chosen = TileChoice(min(_ELEMENTWISE_VECTORS, vectors), 1, 1.0)
    if pixel is not None and pixel in asked.unroll:
        chosen = replace(chosen, pixels=facts.capped(pixel, asked.unroll[pixel], chosen.vectors))
    if vector in asked.unroll:
        chosen = replace(chosen, vectors=facts.capped(vector, asked.unroll[vector], chosen.pixels))
    if facts.summed:
        facts.reasons.append(
            f"registers: {chosen.pixels} x {chosen.vectors} {f'vectors of {lanes}' if lanes > 1 else 'scalars'}, "
            f"expected {100 * min(1.0, chosen.efficiency):.0f} % of peak"
        )
    return chosen


def _unit(facts: Facts, pixel: str) -> int:
    """Of what the pixels of a tile must be a multiple: where an axis runs through several rows of an image, whole rows
    make addresses that are known."""
    parts = (part for expr in (facts.stage.body, *facts.stage.indices) for part in walk(expr))
    rows = (part.arguments for part in parts if isinstance(part, Apply) and part.function in ("floor_div", "mod"))
    return max((int(k.value) for a, k in rows if a == facts.axes[pixel] and isinstance(k, Literal)), default=1)


def _reuse(facts: Facts, vector: str, pixel: str | None) -> Reuse:
    per_vector = per_pixel = per_place = 0
    for access in facts.terms:
        along_vector = access.strides.get(vector) != 0
        along_pixel = pixel is not None and access.strides.get(pixel) != 0
        per_place += along_vector and along_pixel
        per_vector += along_vector and not along_pixel
        per_pixel += along_pixel and not along_vector
    return Reuse(per_vector, per_pixel, per_place)


def copies(plan: Plan, facts: Facts) -> int:
    """How often the innermost code is written down: each block that does not divide makes another size of it."""
    count = 1
    for name in (plan.vector, plan.pixel):
        if name in facts.result:
            sizes = plan.loop_sizes(name)
            count *= sum(_sizes(part.size, sizes) for part in segments(facts.stage, facts.axes[name]))
    return count


def _sizes(size: int, steps: Sequence[int]) -> int:
    if not steps:
        return 1
    step = max(1, min(steps[0], size))
    rest = size % step
    return _sizes(step, steps[1:]) + (_sizes(rest, steps[1:]) if rest else 0)
