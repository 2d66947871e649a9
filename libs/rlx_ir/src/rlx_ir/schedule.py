"""The three orthogonal schedule attributes of an op: how it is computed, never what.

`tile_layout` gives block sizes per operand, `compute_schedule` the loops, `memory_coalesce` how neighbouring
accesses merge. Each is optional; what is left out, the compiler chooses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["DIMENSIONS", "NO_SCHEDULE", "ComputeSchedule", "MemoryCoalesce", "Schedule", "Tile"]

# The names that a schedule may use for an op's iteration axes; elementwise ops of odd ranks add dim0, dim1, …
DIMENSIONS: Final = (
    "batch",
    "output_channel",
    "input_channel",
    "depth",
    "height",
    "width",
    "kernel_depth",
    "kernel_height",
    "kernel_width",
    "row",
    "column",
    "reduce",
)


@dataclass(frozen=True, slots=True)
class Tile:
    """Block sizes of one operand: (axis, size) in canonical order. An axis is a layout letter where the operand has
    letters (`"C"`, `"H"`), otherwise a dimension name (`"row"`). Axes that are left out are whole."""

    operand: str
    sizes: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class ComputeSchedule:
    """`unroll` and `pipeline_depth` are counts; `order` is the loop order from outer to inner."""

    parallel_dims: tuple[str, ...] = ()
    vectorize_dim: str | None = None
    unroll: tuple[tuple[str, int], ...] = ()
    order: tuple[str, ...] = ()
    pipeline_depth: int | None = None


@dataclass(frozen=True, slots=True)
class MemoryCoalesce:
    """`width` in bytes; `dim` the dimension along which accesses merge."""

    width: int
    dim: str | None = None


@dataclass(frozen=True, slots=True)
class Schedule:
    """What the author asked of one op."""

    tile_layout: tuple[Tile, ...] = ()
    compute_schedule: ComputeSchedule | None = None
    memory_coalesce: MemoryCoalesce | None = None

    def tile(self, operand: str) -> dict[str, int]:
        """The block sizes of one operand by axis; empty where none are given."""
        return next((dict(tile.sizes) for tile in self.tile_layout if tile.operand == operand), {})


NO_SCHEDULE: Final = Schedule()
