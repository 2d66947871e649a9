"""Choosing a plan: what the author asked for is taken, the rest comes from how the stage's reads move through memory.

1. The vector axis: the one along which every read and the store are neighbours or do not move.
2. The register tile: `schedule.registers` weighs loads against arithmetic.
3. The loops: blocks asked for, then panels of what is reused (weights), then the result's own order.
4. The loops over summed axes: the one with the smallest steps innermost, a few turns of it unrolled.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from math import gcd, prod

from rlx_compiler.lowering.segments import segments
from rlx_compiler.lowering.storage import Stage
from rlx_compiler.lowering.substitute import reduces
from rlx_compiler.lowering.values import computed
from rlx_compiler.schedule import primitives
from rlx_compiler.schedule.access import Access, accesses, stage_axes
from rlx_compiler.schedule.asked import NOTHING_ASKED, Asked
from rlx_compiler.schedule.effort import FULL, Effort
from rlx_compiler.schedule.plan import Loop, Packing, Plan
from rlx_compiler.schedule.registers import Reuse, TileChoice, best_tile
from rlx_compiler.targets.spec import TargetSpec

__all__ = ["Chosen", "choose", "scalar_plan"]

# One turn of the innermost loop and its unrolled neighbours are at most so many multiply-adds: compile time is
# proportional to it, and an instruction cache holds it.
_MOST_UNROLLED = 128
_MOST_TURNS = 4
_ELEMENTWISE_VECTORS = 4
_FEW_TASKS = 32  # fewer than this leave members of a team idle
_MOST_TASKS = 128  # more than this only cost
_SMALL = 2048  # elements of result · terms below which sharing costs more than it gives


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
    return _Choice(stage, spec, constants if effort.pack else (), asked, effort).made()


class _Choice:
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

    # --- 1: the vector axis

    def lanes(self) -> int:
        widest = max((a.tensor.dtype for a in self.accesses), key=lambda d: computed(d).itemsize)
        lanes = self.spec.lanes(computed(widest))
        if self.asked.vector_bytes is not None:
            wanted = max(1, self.asked.vector_bytes // self.stage.output.dtype.itemsize)
            power = 1 << (wanted.bit_length() - 1)
            if power < lanes:
                self.reasons.append(f"vectors of {power} lanes: memory_coalesce.width={self.asked.vector_bytes}")
            lanes = min(lanes, power)
        return lanes

    def vector_axis(self) -> str | None:
        if self.asked.vector in self.axes:
            self.reasons.append(f"vectors along {self.asked.vector}: asked for")
            return self.asked.vector
        best: tuple[int, int, str] | None = None
        for place, name in enumerate(self.result):
            if self.size(name) < 2:
                continue
            strides = [self.stride(access, name) for access in self.accesses]
            if None in strides or any(s is not None and s < 0 for s in strides):
                continue
            spread = sum(8 if a.summed else 1 for a, s in zip(self.accesses, strides, strict=True) if s not in (0, 1))
            if self.stride(self.accesses[-1], name) != 1:
                spread += 2
            guarded = 4 if len(segments(self.stage, self.axes[name])) > 1 else 0
            narrow = 2 if self.size(name) < 4 else 0
            cost = spread + guarded + narrow
            if cost < 8 and (best is None or (cost, -place) < best[:2]):
                best = (cost, -place, name)
        if best is not None and (best[0] < 4 or self.summed_vector() is None):
            self.reasons.append(f"vectors along {best[2]}: neighbours in memory there")
            return best[2]
        return self.summed_vector()

    def summed_vector(self) -> str | None:
        """A summed axis whose terms are neighbours in memory."""
        stage_reduces = reduces(self.stage.body)
        if len(stage_reduces) != 1:
            return None
        for name in self.summed:
            strides = [a.strides.get(name) for a in self.accesses if a.summed]
            if strides and 1 in strides and all(s in (0, 1) for s in strides) and self.size(name) >= 2 * self.lanes():
                return name
        return None

    # --- 2: the register tile

    def pixel_axis(self, vector: str) -> str | None:
        """The axis along which something that a turn loads is used again."""
        asked = [n for n in self.asked.unroll if n in self.result and n != vector]
        if asked:
            return asked[0]
        found: tuple[int, int, str] | None = None
        for place, name in enumerate(self.result):
            if name == vector or self.size(name) < 2:
                continue
            reused = sum(1 for a in self.accesses if a.summed and a.strides.get(name) == 0)
            if reused and (found is None or (reused, place) > found[:2]):
                found = (reused, place, name)
        return None if found is None else found[2]

    def reuse(self, vector: str, pixel: str | None) -> Reuse:
        per_vector = per_pixel = per_place = 0
        for access in self.accesses:
            if not access.summed:
                continue
            along_vector = access.strides.get(vector) != 0
            along_pixel = pixel is not None and access.strides.get(pixel) != 0
            per_place += along_vector and along_pixel
            per_vector += along_vector and not along_pixel
            per_pixel += along_pixel and not along_vector
        return Reuse(per_vector, per_pixel, per_place)

    def row(self, vector: str) -> int:
        """How much of the vector axis is in one block."""
        asked = [sizes[vector] for sizes in (self.asked.blocks, self.asked.staging) if vector in sizes]
        return max(1, min(self.size(vector), *asked) if asked else self.size(vector))

    def tile(self, vector: str, pixel: str | None, lanes: int) -> TileChoice:
        vectors = -(-self.row(vector) // lanes)
        pixels = 1
        if pixel is not None:
            inner = max((s.size for s in segments(self.stage, self.axes[pixel]) if s.known), default=1)
            pixels = min(inner, self.asked.blocks.get(pixel, inner), self.asked.staging.get(pixel, inner))
        chosen = best_tile(vectors, max(1, pixels), self.reuse(vector, pixel), self.spec.vector_registers)
        wanted_pixels = self.asked.unroll.get(pixel or "", chosen.pixels)
        wanted_vectors = self.asked.unroll.get(vector, chosen.vectors)
        return TileChoice(wanted_vectors, wanted_pixels, chosen.efficiency)

    # --- 3 and 4: loops

    def made(self) -> Chosen:
        vectors = self.effort.vectors or self.asked.vector in self.axes or self.asked.vector_bytes is not None
        vector = self.vector_axis() if vectors else None
        lanes = self.lanes() if vectors else 1
        if vector is None or lanes == 1:
            why = "no axis along which all reads are evenly spaced" if vectors else "the optimisation level has none"
            self.reasons.append(f"no vectors: {why}")
            plan = scalar_plan(self.stage, self.asked)
            return Chosen(self.reduce_plan(plan, 1), tuple(self.reasons))
        if vector in self.summed:
            self.reasons.append(f"partial sums in {lanes} lanes along {vector}: its terms are neighbours in memory")
            plan = primitives.vectorise(scalar_plan(self.stage, self.asked), vector, lanes)
            return Chosen(self.reduce_plan(plan, 1), tuple(self.reasons))
        lanes = min(lanes, 1 << (self.row(vector).bit_length() - 1))
        plan = primitives.vectorise(Plan(()), vector, lanes)
        if self.summed:
            pixel = self.pixel_axis(vector)
            tile = self.tile(vector, pixel, lanes)
            self.reasons.append(
                f"registers: {tile.pixels} x {tile.vectors} vectors of {lanes}, "
                f"expected {100 * min(1.0, tile.efficiency):.0f} % of peak"
            )
        else:
            pixel, tile = None, TileChoice(min(_ELEMENTWISE_VECTORS, -(-self.row(vector) // lanes)), 1, 1.0)
        row = tile.vectors * lanes
        plan = self.with_loops(plan, vector, row, pixel, tile.pixels)
        plan = self.reduce_plan(plan, tile.vectors * tile.pixels)
        for packing in self.packings(vector, row, plan):
            plan = primitives.pack(plan, packing)
            self.reasons.append(f"{packing.tensor.name} packed in panels of {packing.block}")
        return Chosen(plan, tuple(self.reasons))

    def with_loops(self, plan: Plan, vector: str, row: int, pixel: str | None, pixels: int) -> Plan:
        """Blocks, then the register tile's loops; the outermost ones parallel."""
        asked = self.asked
        blocked = [name for name in self.result if name in asked.blocks and asked.blocks[name] < self.size(name)]
        for name in blocked:
            plan = primitives.split(plan, name, asked.blocks[name])
        for name in self.result:
            near = asked.staging.get(name)
            if near is not None and near < asked.blocks.get(name, self.size(name)):
                plan = primitives.split(plan, name, near)
        others = [name for name in self.result if name not in (vector, pixel) and self.size(name) > 1]
        panel = (
            bool(self.summed)
            and any(
                a.summed and a.strides.get(vector) != 0 and all(a.strides.get(n) == 0 for n in others)
                for a in self.accesses
            )
            and not self.moves_with_all(vector)
        )
        inner = [Loop(name, 1) for name in others]
        row_loop = Loop(vector, row)
        inner = [row_loop, *inner] if panel else [*inner, row_loop]
        for loop in inner:
            plan = primitives.split(plan, loop.axis, loop.size)
        if pixel is not None:
            plan = primitives.in_registers(plan, pixel, pixels)
        if asked.order:
            plan = primitives.reorder(plan, [name for name in asked.order if name in self.result])
        axes = self.parallel_axes(plan)
        return primitives.parallel(plan if asked.parallel else self.coarser(plan, axes), axes)

    def coarser(self, plan: Plan, axes: Sequence[str]) -> Plan:
        """Many small tasks of one axis as a few larger ones: its loop is cut once more, outside of all."""
        counts = {n: -(-self.size(n) // next(x.size for x in plan.loops if x.axis == n)) for n in axes}
        if not axes or plan.loops[0].axis in self.asked.named:
            return plan
        last = axes[-1]
        others = prod(count for name, count in counts.items() if name != last)
        turns = counts[last] * others // _MOST_TASKS
        place = next(i for i, loop in enumerate(plan.loops) if loop.axis == last)
        if turns < 2 or last in self.asked.named:
            return plan
        block = Loop(last, plan.loops[place].size * turns)
        return replace(plan, loops=(*plan.loops[:place], block, *plan.loops[place:]))

    def moves_with_all(self, vector: str) -> bool:
        """Whether every operand moves along the vector axis, as in a depthwise convolution: no panel is reused."""
        return all(a.strides.get(vector) != 0 for a in self.accesses if a.summed)

    def parallel_axes(self, plan: Plan) -> list[str]:
        if self.asked.parallel:
            taken = [name for name in self.asked.parallel if name in self.result]
            for name in set(self.asked.parallel) - set(taken):
                self.reasons.append(f"{name} not parallel: its terms add up in one place")
            self.reasons.append(f"parallel over {', '.join(taken)}: asked for")
            return taken
        work = 1
        for name in self.axes:
            work *= max(1, self.size(name))
        if work < _SMALL:
            self.reasons.append("one thread: too little work to share")
            return []
        tasks, axes = 1, []
        for loop in plan.loops:
            if loop.axis in axes or (tasks > 1 and tasks >= _FEW_TASKS):
                break
            if loop.axis in (plan.vector, plan.pixel) and len(segments(self.stage, self.axes[loop.axis])) > 1:
                break
            if self.size(loop.axis) > loop.size:
                axes.append(loop.axis)
                tasks *= -(-self.size(loop.axis) // loop.size)
        return axes

    def reduce_plan(self, plan: Plan, places: int) -> Plan:
        """Loops over the summed axes: blocks asked for, then steps from large to small; the last one unrolled."""
        summed = [name for name in self.summed if name != plan.vector]

        def step(name: str) -> int:
            strides = [
                a.strides.get(name, 0) for a in self.accesses if a.summed and a.tensor.name not in self.constants
            ]
            if not strides:
                strides = [a.strides.get(name, 0) for a in self.accesses if a.summed]
            return max((1 << 30 if s is None else abs(s) for s in strides), default=0)

        order = sorted(summed, key=lambda name: -step(name))
        asked = [name for name in self.asked.order if name in summed]
        if asked:
            order = asked + [name for name in order if name not in asked]
        for name in order:
            near = self.asked.staging.get(name)
            if near is not None and near < self.size(name):
                plan = primitives.stage(plan, name, near)
        for name in order:
            plan = primitives.stage(plan, name, 1)
        room = max(1, _MOST_UNROLLED // max(1, places))
        for name, count in self.asked.unroll.items():
            if name in order:
                taken = min(count, room)
                note = "asked for" if taken == count else f"asked for {count}, more than the code may grow"
                self.reasons.append(f"{name} unrolled {taken}: {note}")
                plan = primitives.unroll(plan, name, taken)
                room = max(1, room // taken)
        for name in reversed(order) if self.effort.unroll else ():
            if name in self.asked.unroll:
                continue
            whole = self.size(name) <= min(room, 2 * _MOST_TURNS)
            turns = self.size(name) if whole else min(_MOST_TURNS, room)
            if turns > 1:
                plan = primitives.unroll(plan, name, turns)
                room //= turns
            if not whole:
                break
        return plan

    def packings(self, vector: str, row: int, plan: Plan) -> list[Packing]:
        """Constants in the order of the loops: a block of the vector axis outermost, its places innermost."""
        found: list[Packing] = []
        place = {axis: rank for rank, axis in enumerate(self._nesting(plan))}
        for access in self.accesses:
            if self.packable(access, vector) and all(p.tensor != access.tensor for p in found):
                dims = list(range(len(access.plain)))
                own = next(d for d in dims if access.plain[d] == vector)
                rest = sorted((d for d in dims if d != own), key=lambda d: place.get(str(access.plain[d]), -1))
                block = gcd(*(min(size, self.size(vector)) for size in plan.loop_sizes(vector)))
                found.append(Packing(access.tensor, (*rest, own), block if block % plan.lanes == 0 else row))
        return found

    @staticmethod
    def _nesting(plan: Plan) -> Sequence[str]:
        return [loop.axis for loop in (*plan.loops, *plan.reduce_loops)]
