"""Which packed constants are asked for ahead of their use: weights that the caches below the last one cannot hold.

A product of a few hundred rows reads each panel of its weights once from far away and then from near, for every further
row of tiles. The first reading has nothing to hide behind. So while one panel is used, the next one is fetched, a few
lines in each turn of the innermost loop; the arithmetic units do not notice.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Final

from rlx_compiler.schedule.facts import Facts
from rlx_compiler.schedule.plan import Packing, Plan

__all__ = ["fetched_ahead"]

_FEWEST_TILES: Final = 4  # that use a panel: with fewer, the lines to fetch in each turn are too many
_SMALLEST: Final = 16 << 10  # bytes of a panel


def fetched_ahead(plan: Plan, facts: Facts, packings: Sequence[Packing]) -> tuple[str, ...]:
    """The names of the constants whose next panel is fetched while one is used."""
    if plan.pixel is None or len(facts.summed) != 1:
        return ()
    tiles = facts.size(plan.pixel) // min(loop.size for loop in plan.loops if loop.axis == plan.pixel)
    found = []
    for packing in packings:
        panels, *panel = packing.shape
        size = prod(panel) * packing.tensor.dtype.itemsize
        if panels > 1 and size >= _SMALLEST and tiles >= _FEWEST_TILES:
            found.append(packing.tensor.name)
            facts.reasons.append(f"{packing.tensor.name}: the next panel of {size >> 10} kB is fetched ahead")
    return tuple(found)
