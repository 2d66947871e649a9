"""Choosing a grid plan: what the author asked for is taken, the rest comes from how the stage's reads move.

1. Sums with few results are shared by the threads of a block, which meet in shared memory.
2. Sums whose operands are read by several threads get a block tile, with elements in registers and operands staged.
3. Anything else is spread over threads element by element, neighbours in memory beside each other.

`tile_layout` of the result is the block tile and, of operands, how much of a summed axis is near at a time;
`parallel_dims` are the axes that blocks divide, slowest first; `vectorize_dim` and `memory_coalesce` name the axis
along which neighbouring threads have neighbouring elements, and how many; `unroll` says how many elements a thread has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod
from typing import Final

from rlx_base.errors import CompileError
from rlx_compiler.lowering.staging import footprints
from rlx_compiler.lowering.storage import Stage
from rlx_compiler.lowering.substitute import reduces
from rlx_compiler.schedule.asked import Asked
from rlx_compiler.schedule.effort import Effort
from rlx_compiler.schedule.facts import Facts
from rlx_compiler.schedule.grid_plan import GridPlan, Spread
from rlx_compiler.targets.spec import TargetSpec

__all__ = ["ChosenGrid", "choose_grid"]

_USUAL_THREADS: Final = 256
_FEW_RESULTS: Final = 4096  # fewer cannot fill a GPU with a thread each
_MANY_TERMS: Final = 64
_ROW_OF_THREADS: Final = 16
_EACH: Final = 4  # elements along an axis in registers
_MOST_IN_REGISTERS: Final = 64
_WARP: Final = 32
_CHUNK: Final = 16  # of a summed axis, in shared memory


@dataclass(frozen=True, slots=True)
class ChosenGrid:
    """A plan and, for the report, why."""

    plan: GridPlan
    reasons: tuple[str, ...]


def choose_grid(stage: Stage, spec: TargetSpec, asked: Asked, effort: Effort, kernel: str) -> ChosenGrid:
    """The plan of a stage. Raises E230 and E231 for a tile that asks for more than the device has."""
    facts = Facts(stage, spec, (), asked, effort)
    chooser = _Chooser(facts, spec, kernel)
    plan = chooser.plan()
    return ChosenGrid(plan, tuple(facts.reasons))


def _power(size: int) -> int:
    """The least power of two that is not smaller."""
    return 1 << max(0, size - 1).bit_length()


class _Chooser:
    def __init__(self, facts: Facts, spec: TargetSpec, kernel: str) -> None:
        assert spec.threads_per_block is not None
        self.facts, self.spec, self.kernel = facts, spec, kernel
        self.most = spec.threads_per_block
        self.usual = min(_USUAL_THREADS, self.most)
        self.reduces = reduces(facts.stage.body)
        self.fast = self._fast_axis()

    def plan(self) -> GridPlan:
        facts, asked = self.facts, self.facts.asked
        results = prod(facts.size(name) for name in facts.result)
        longest = max(facts.summed, key=facts.size, default=None)
        few = results <= _FEW_RESULTS and not asked.blocks and not asked.parallel and not asked.unroll
        if longest is not None and few and facts.size(longest) >= _MANY_TERMS and self._all_share(longest):
            return self._shared(longest)
        if self.reduces and facts.result and (facts.effort.unroll or asked.blocks) and self._worth_staging():
            plan = self._tiled()
            if plan.staged:
                return plan
        return self._spread()

    # --- what the axes are

    def _fast_axis(self) -> str | None:
        """Neighbouring threads have neighbours along it: as asked, else where the result's neighbours are."""
        facts, asked = self.facts, self.facts.asked
        if asked.vector in facts.result:
            facts.reasons.append(f"neighbouring threads along {asked.vector}: asked for")
            return asked.vector
        wide = [name for name in facts.result if facts.size(name) > 1]
        if not wide:
            return None
        facts.reasons.append(f"neighbouring threads along {wide[-1]}: neighbours in memory there")
        return wide[-1]

    def _run(self) -> int:
        """How many threads stand beside each other along the fast axis, where that was asked for."""
        bytes_asked = self.facts.asked.vector_bytes
        if bytes_asked is None:
            return 0
        run = max(1, min(self.most, bytes_asked // self.facts.stage.output.dtype.itemsize))
        self.facts.reasons.append(f"runs of {run} threads: memory_coalesce.width={bytes_asked}")
        return run

    def _ordered(self, spreads: dict[str, Spread]) -> tuple[Spread, ...]:
        first = [name for name in self.facts.asked.parallel if name in spreads]
        return tuple(spreads[name] for name in [*first, *(name for name in spreads if name not in first)])

    def _order(self) -> tuple[str, ...]:
        others = [name for name in self.facts.result if name != self.fast]
        return (*others, self.fast) if self.fast is not None else tuple(others)

    # --- 1. sums shared by threads

    def _all_share(self, axis: str) -> bool:
        return all(any(own.name == axis for own in reduce.axes) for reduce in self.reduces)

    def _shared(self, axis: str) -> GridPlan:
        facts = self.facts
        size = facts.size(axis)
        beside = any(access.strides.get(axis) == 1 for access in facts.terms)
        fast = self.fast
        along = min(_WARP, _power(facts.size(fast))) if fast is not None and not beside else 1
        threads = max(1, min(self.usual // along, _power(size) // (1 if size < 4 * _WARP else 4)))
        facts.reasons.append(f"{threads} threads share the terms along {axis}: there are few results")
        wide = {name: along if name == fast else 1 for name in facts.result}
        spreads = {name: Spread(name, count, count) for name, count in wide.items()}
        order = (*facts.result, axis) if beside else (axis, *self._order())
        return GridPlan(self._ordered(spreads), order, shared_axis=axis, shared_threads=threads)

    # --- 2. block tiles with staged operands

    def _worth_staging(self) -> bool:
        """Whether some operand of a sum does not move along some axis of the result: then threads share it."""
        wide = [name for name in self.facts.result if self.facts.size(name) > 1]
        return any(access.strides.get(name) == 0 for access in self.facts.terms for name in wide)

    def _pixel(self) -> str | None:
        """The axis in registers beside the fast one: as asked, else where most is read again."""
        facts = self.facts
        asked = [name for name in facts.asked.unroll if name in facts.result and name != self.fast]
        if asked:
            return asked[0]
        others = [name for name in facts.result if name != self.fast and facts.size(name) > 1]
        reused = {name: sum(1 for a in facts.terms if a.strides.get(name) == 0) for name in others}
        return max(others, key=lambda name: (reused[name], facts.result.index(name)), default=None)

    def _tiled(self) -> GridPlan:
        facts, asked = self.facts, self.facts.asked
        pixel, row = self._pixel(), self.fast
        assert row is not None
        spreads: dict[str, Spread] = {}
        left = self.usual
        run = self._run()
        blocks = {name: min(size, facts.size(name)) for name, size in asked.blocks.items() if name in facts.result}
        for name in [row, *([pixel] if pixel is not None else []), *facts.result]:
            if name in spreads:
                continue
            size = facts.size(name)
            tile = blocks.get(name)
            if tile is None and asked.parallel and name not in asked.parallel:
                tile = size
            in_registers = name in (row, pixel)
            each = asked.unroll.get(name, 1)
            if tile is None:
                threads = min(left, _power(size), _ROW_OF_THREADS if in_registers else 1)
                if name == row and run:
                    threads = min(run, left)
                if in_registers and name not in asked.unroll:
                    each = _EACH if size >= _EACH * threads else 2 if size >= 2 * threads else 1
                tile = threads * each
            elif name in asked.unroll:
                threads = -(-tile // each)
            else:
                most = _EACH * _EACH if in_registers and pixel is None else 2 * _EACH if in_registers else 1
                threads = min(_power(tile), max(run if name == row else 1, min(left, _ROW_OF_THREADS)))
                if not in_registers:
                    threads = min(left, _power(tile))
                while in_registers and -(-tile // threads) > most and threads < min(tile, left):
                    threads *= 2
            spreads[name] = Spread(name, tile, threads)
            left = max(1, left // threads)
        plan = GridPlan(self._ordered(spreads), self._order(), pixel, row, self._chunks(), staged=True)
        if not asked.blocks and not asked.unroll:
            plan = self._enough_blocks(plan)
        self._check_threads(plan)
        plan = self._fitting(plan)
        if plan.staged:
            sizes = " x ".join(f"{s.axis} {s.tile}" for s in plan.spreads if s.tile > 1)
            facts.reasons.append(f"block tile {sizes or 1}, {self._shared_bytes(plan)} bytes of operands near")
        return plan

    def _enough_blocks(self, plan: GridPlan) -> GridPlan:
        """Fewer elements a thread where there would be too few blocks to fill a device."""

        def count(plan: GridPlan) -> int:
            return prod(-(-self.facts.size(s.axis) // s.tile) for s in plan.spreads)

        parallel = self.facts.asked.parallel
        while count(plan) < _WARP:
            divided = [s for s in plan.spreads if not parallel or s.axis in parallel]
            largest = max(divided, key=lambda s: s.each, default=None)
            if largest is None or largest.each == 1:
                break
            plan = self._with(plan, Spread(largest.axis, largest.threads * (largest.each // 2), largest.threads))
        return plan

    @staticmethod
    def _with(plan: GridPlan, spread: Spread) -> GridPlan:
        return replace(plan, spreads=tuple(spread if s.axis == spread.axis else s for s in plan.spreads))

    def _chunks(self) -> dict[str, int]:
        """How much of each summed axis is near: as asked, else a run of the longest one and all of a window."""
        facts = self.facts
        longest = max(facts.summed, key=facts.size)
        chunks = {}
        for name in facts.summed:
            usual = _CHUNK if name == longest else 16
            chunks[name] = max(1, min(facts.size(name), facts.asked.staging.get(name, usual)))
        return chunks

    def _shared_bytes(self, plan: GridPlan) -> int:
        total = 0
        for reduce in self.reduces:
            covered = {s.axis: s.covered for s in plan.spreads}
            for axis in reduce.axes:
                covered[axis.name] = max(1, min(self.facts.size(axis.name), plan.chunks.get(axis.name, 1)))
            axes = {**{a.name: a for a in self.facts.stage.axes}, **{a.name: a for a in reduce.axes}}
            total += sum(footprint.bytes for footprint in footprints(reduce, axes, covered))
        return total

    def _fitting(self, plan: GridPlan) -> GridPlan:
        """The plan with chunks that fit shared memory; what was asked for and does not fit is refused."""
        most = self.spec.shared_bytes or 0
        asked = self.facts.asked
        while self._shared_bytes(plan) > most:
            open_chunks = {n: c for n, c in plan.chunks.items() if c > 1 and n not in asked.staging}
            if not open_chunks:
                if asked.staging or asked.blocks:
                    self._refuse_shared(plan, most)
                self.facts.reasons.append("operands not staged: they do not fit shared memory")
                return replace(plan, staged=False)
            largest = max(open_chunks, key=lambda name: open_chunks[name])
            plan = replace(plan, chunks={**plan.chunks, largest: -(-plan.chunks[largest] // 2)})
        if self._shared_bytes(plan) == 0:
            return replace(plan, staged=False)
        return plan

    # --- 3. element by element

    def _spread(self) -> GridPlan:
        facts, asked = self.facts, self.facts.asked
        spreads: dict[str, Spread] = {}
        run = self._run()
        left = self.usual
        for name in reversed(self._order()):
            size = max(1, facts.size(name))
            tile = min(size, asked.blocks.get(name, size if asked.parallel and name not in asked.parallel else left))
            if name in asked.unroll and name in asked.blocks:
                threads = -(-tile // asked.unroll[name])
            else:
                threads = min(tile, left if name != self.fast or not run else run)
            if name not in asked.blocks and not (asked.parallel and name not in asked.parallel):
                tile = threads * asked.unroll.get(name, 1)
            spreads[name] = Spread(name, tile, threads)
            left = max(1, left // threads)
        plan = GridPlan(self._ordered({name: spreads[name] for name in facts.result}), self._order())
        self._check_threads(plan)
        return plan

    # --- limits

    def _check_threads(self, plan: GridPlan) -> None:
        """A block has no more threads than the device allows, and a thread no more registers than there can be."""
        registers = prod(s.each for s in plan.spreads if s.axis in (plan.pixel, plan.row))
        needed = plan.threads * max(1, -(-registers // _MOST_IN_REGISTERS))
        if needed <= self.most:
            return
        legal = self._legal(plan, lambda p: p.threads <= self.most and self._registers(p) <= _MOST_IN_REGISTERS)
        target = self.spec.target
        raise CompileError("E230", kernel=self.kernel, threads=needed, target=target, most=self.most, tile=legal)

    @staticmethod
    def _registers(plan: GridPlan) -> int:
        return prod(s.each for s in plan.spreads if s.axis in (plan.pixel, plan.row))

    def _refuse_shared(self, plan: GridPlan, most: int) -> None:
        legal = self._legal(plan, lambda p: self._shared_bytes(p) <= most)
        needed = self._shared_bytes(plan)
        raise CompileError("E231", kernel=self.kernel, bytes=needed, target=self.spec.target, most=most, tile=legal)

    def _legal(self, plan: GridPlan, fits: Callable[[GridPlan], bool]) -> str:
        """The largest tile of these proportions that the device takes: its longest side is halved until it fits."""
        while not fits(plan):
            largest = max(plan.spreads, key=lambda s: s.tile)
            chunk = max(plan.chunks, key=lambda name: plan.chunks[name], default=None)
            if chunk is not None and plan.chunks[chunk] > max(largest.tile, 1):
                plan = replace(plan, chunks={**plan.chunks, chunk: plan.chunks[chunk] // 2})
            elif largest.tile > 1:
                tile = largest.tile // 2
                plan = self._with(plan, Spread(largest.axis, tile, max(1, -(-tile // largest.each))))
            else:
                break
        tiles = {s.axis: s.tile for s in plan.spreads}
        sides = {name: tiles[name] for name in self.facts.result if name in self.facts.asked.blocks}
        sides |= {name: size for name, size in plan.chunks.items() if name in self.facts.asked.staging}
        return " x ".join(f"{name} {size}" for name, size in sides.items()) or "none"
