"""The cost model of a register tile: how many vectors times how many pixels keep the arithmetic units busy.

A turn of the innermost loop multiplies and adds `pixels · vectors` vectors. It costs as many cycles as its arithmetic
(two a cycle), its loads (two a cycle) or the chain through one accumulator (four cycles) ask for, whichever is most.
The figures are those of a current CPU core; only their ratios matter, and they choose between tiles, never results.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

__all__ = ["Reuse", "TileChoice", "best_tile"]

_LATENCY = 4.0
_PER_TURN = 1.0  # counter, comparison, branch
_WIDE = 0.1  # a whole vector from the second-level cache, also where its load hides: tall tiles read fewer of them
_MOST_VECTORS = 8
_MOST_PIXELS = 14


@dataclass(frozen=True, slots=True)
class Reuse:
    """How many loads one turn needs: for each vector, for each pixel, for each place of the tile, and for the tile."""

    per_vector: int
    per_pixel: int
    per_place: int


@dataclass(frozen=True, slots=True)
class TileChoice:
    """Vectors and pixels of the tile, and its expected share of the arithmetic peak."""

    vectors: int
    pixels: int
    efficiency: float


def _cycles(vectors: int, pixels: int, reuse: Reuse) -> float:
    places = vectors * pixels
    loads = reuse.per_vector * vectors + reuse.per_pixel * pixels + reuse.per_place * places
    return max(places / 2, loads / 2, _LATENCY) + _PER_TURN + _WIDE * reuse.per_vector * vectors


def _parts(size: int, step: int) -> list[tuple[int, int]]:
    """(how many, of which size): whole steps and the rest."""
    found = [(size // step, step)] if size >= step else []
    return [*found, (1, size % step)] if size % step else found


@lru_cache(maxsize=4096)
def best_tile(all_vectors: int, all_pixels: int, reuse: Reuse, registers: int, unit: int = 1) -> TileChoice:
    """The tile with the fewest cycles for all vectors and pixels that fits the registers; pixels by whole units."""
    best: tuple[float, int, int] | None = None
    for vectors in range(1, min(all_vectors, _MOST_VECTORS) + 1):
        for pixels in range(unit, min(all_pixels, max(_MOST_PIXELS, unit)) + 1, unit):
            needed = vectors * pixels + (vectors if reuse.per_vector and pixels > 1 else 0) + 1
            if needed > registers and (vectors > 1 or pixels > unit):
                continue
            cycles = sum(
                count_v * count_p * _cycles(v, p, reuse)
                for count_v, v in _parts(all_vectors, vectors)
                for count_p, p in _parts(all_pixels, pixels)
            )
            copies = len(_parts(all_vectors, vectors)) * len(_parts(all_pixels, pixels))
            cost = (cycles * (1 + 0.01 * (copies - 1)), vectors * pixels, -vectors)
            if best is None or cost < (best[0], best[1] * best[2], -best[1]):
                best = (cost[0], vectors, pixels)
    if best is None:
        return TileChoice(1, 1, 0.0)
    return TileChoice(best[1], best[2], all_vectors * all_pixels / 2 / best[0])
