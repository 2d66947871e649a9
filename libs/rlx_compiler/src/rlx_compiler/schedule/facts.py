"""What the cost model knows of a stage: its axes, how its reads move, what was asked for, and its reasons."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from rlx_compiler.lowering.storage import Stage
from rlx_compiler.lowering.substitute import operations, reduces
from rlx_compiler.schedule.access import Access, accesses, stage_axes
from rlx_compiler.schedule.asked import Asked
from rlx_compiler.schedule.effort import Effort
from rlx_compiler.targets.spec import TargetSpec

__all__ = ["Facts"]

# One turn of the innermost loop and its unrolled neighbours are at most so many operations: compile time is
# proportional to it, and an instruction cache holds it.
_MOST_OPERATIONS = 512
_FEWEST_OPERATIONS = 4  # of a term: what loads and a multiply-add take


class Facts:
    """`result` and `summed` name the axes; `constants` are the tensors whose order in memory is free; `reasons` are
    collected for the report."""

    def __init__(
        self, stage: Stage, spec: TargetSpec, constants: Collection[str], asked: Asked, effort: Effort
    ) -> None:
        self.stage, self.spec, self.effort = stage, spec, effort
        self.axes = stage_axes(stage)
        self.asked = asked.within(self.axes)
        self.result = [axis.name for axis in stage.axes]
        self.summed = [name for name in self.axes if name not in self.result]
        self.accesses = accesses(stage)
        self.constants = constants
        self.reasons: list[str] = []

    def size(self, name: str) -> int:
        size = self.axes[name].extent
        assert isinstance(size, int)
        return size

    @property
    def room(self) -> int:
        """How many terms, or elements of the result, may be written out one after the other."""
        bodies = [reduce.body for reduce in reduces(self.stage.body)] or [self.stage.body]
        return max(1, _MOST_OPERATIONS // max(_FEWEST_OPERATIONS, *map(operations, bodies)))

    @property
    def terms(self) -> list[Access]:
        """The accesses that happen once per term of a reduction."""
        return [access for access in self.accesses if access.summed]

    def stride(self, access: Access, name: str) -> int | None:
        """Along a constant's own axis neighbours can be made neighbours in memory."""
        if self.packable(access, name):
            return 1
        return access.strides.get(name, 0)

    def packable(self, access: Access, name: str) -> bool:
        """Whether the access is to a constant that may be reordered so that this axis is innermost."""
        used = [axis for axis in access.plain if axis is not None]
        return (
            access.summed
            and access.tensor.name in self.constants
            and len(used) == len(access.plain)
            and len(set(used)) == len(used)
            and used.count(name) == 1
            and len(used) > 1
        )

    def forget_blocks(self, names: Collection[str]) -> None:
        """Give up the blocks asked for along these axes: with them the code would be too large."""
        self.reasons += [f"no blocks along {name}: their rests would make too much code" for name in names]

        def left(sizes: Mapping[str, int]) -> dict[str, int]:
            return {name: size for name, size in sizes.items() if name not in names}

        self.asked = replace(self.asked, blocks=left(self.asked.blocks), staging=left(self.asked.staging))

    def capped(self, name: str, asked: int, beside: int) -> int:
        """As many turns of an axis written out as were asked for, and as the code may grow with `beside` in each."""
        taken = min(asked, max(1, self.room // max(1, beside)), max(1, self.size(name)))
        note = "asked for" if taken == asked else f"asked for {asked}, more than there are or the code may grow"
        self.reasons.append(f"{name} unrolled {taken}: {note}")
        return taken
