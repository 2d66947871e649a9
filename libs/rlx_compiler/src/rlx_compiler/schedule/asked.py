"""What a program asks of one op's schedule, in terms of the axes of its nest."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from rlx_ir.op import Op
from rlx_ir.schedule import Schedule
from rlx_ir.tiles import tile_axes
from rlx_ir.types import TensorType

__all__ = ["NOTHING_ASKED", "Asked", "asked_of"]


@dataclass(frozen=True, slots=True)
class Asked:
    """`blocks`: the block tile of the result. `staging`: for any axis, how much of it is brought near at a time.

    Empty or None where the author left the choice to the compiler.
    """

    blocks: Mapping[str, int] = field(default_factory=dict)
    staging: Mapping[str, int] = field(default_factory=dict)
    parallel: tuple[str, ...] = ()
    vector: str | None = None
    unroll: Mapping[str, int] = field(default_factory=dict)
    order: tuple[str, ...] = ()
    vector_bytes: int | None = None

    @property
    def named(self) -> frozenset[str]:
        """The axes that the author spoke of: they keep their own loops."""
        return frozenset((*self.blocks, *self.staging, *self.parallel, *self.unroll, *self.order)) | (
            frozenset() if self.vector is None else {self.vector}
        )

    def within(self, axes: Collection[str]) -> Asked:
        """What of it is about these axes: those of one element have no loop, and a stage need not have all of an op."""

        def kept(sizes: Mapping[str, int]) -> dict[str, int]:
            return {name: size for name, size in sizes.items() if name in axes}

        return Asked(
            kept(self.blocks),
            kept(self.staging),
            tuple(name for name in self.parallel if name in axes),
            self.vector if self.vector in axes else None,
            kept(self.unroll),
            tuple(name for name in self.order if name in axes),
            self.vector_bytes,
        )


NOTHING_ASKED = Asked()


def asked_of(op: Op, operands: Sequence[TensorType | None], results: Sequence[TensorType], schedule: Schedule) -> Asked:
    """The schedule attributes of an op by axis. Staging tiles of image rows and columns count input places, so a
    window that moves in strides covers fewer of the result."""
    blocks: dict[str, int] = {}
    staging: dict[str, int] = {}
    strides = getattr(op, "strides", None) or ()
    moved = dict(zip(("depth", "height", "width")[-len(strides) :], strides, strict=True)) if strides else {}
    for tile in schedule.tile_layout:
        dimensions = {axis: dimension for axis, _, dimension in tile_axes(op, operands, results, tile.operand)}
        for axis, size in tile.sizes:
            name = dimensions[axis]
            if tile.operand in op.results:
                blocks[name] = size
            else:
                near = max(1, size // moved.get(name, 1))
                staging[name] = min(near, staging.get(name, near))
    compute, coalesce = schedule.compute_schedule, schedule.memory_coalesce
    vector = compute.vectorize_dim if compute is not None else None
    return Asked(
        blocks,
        staging,
        compute.parallel_dims if compute is not None else (),
        vector if vector is not None or coalesce is None else coalesce.dim,
        dict(compute.unroll) if compute is not None else {},
        compute.order if compute is not None else (),
        None if coalesce is None else coalesce.width,
    )
