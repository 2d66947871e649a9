"""Several stages as one kernel, block by block: what stands between them is a few rows that never leave the caches.

A softmax takes maxima, powers, sums and quotients of the same rows; an attention puts a product before it and one
behind. All are computed for a block of rows before the next one begins. A stage of the block is an ordinary stage
whose row is `block + row`, and what it gives to the next one is a small array of the kernel's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from rlx_compiler.loops import build
from rlx_compiler.loops.ir import Allocate, Buffer, Expr, For, If, Kernel, Let, Stmt, Var
from rlx_compiler.lowering.collapse import collapse
from rlx_compiler.lowering.indices import Scope
from rlx_compiler.lowering.kernels import Lowered, Part, elements, flops
from rlx_compiler.lowering.nest import Nest
from rlx_compiler.lowering.storage import Stage, physical
from rlx_compiler.lowering.substitute import map_reads, reads, replace_axes
from rlx_compiler.lowering.values import NotVectorisable
from rlx_compiler.schedule.asked import NOTHING_ASKED
from rlx_compiler.schedule.choose import choose, scalar_plan
from rlx_compiler.schedule.effort import Effort
from rlx_compiler.schedule.primitives import serial
from rlx_compiler.targets.spec import TargetSpec
from rlx_ir import expr as ir
from rlx_ir.expr import Axis, Read, Tensor, apply
from rlx_ir.layout import Layout

__all__ = ["Blocks", "NotShared", "lower_blocks", "shared_axes"]


class NotShared(Exception):
    """As they are stored the stages have no row in common: each becomes a kernel of its own."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """`along`, an axis of the last stage, is cut into blocks of `rows`; the other shared ones are looped over."""

    along: Axis
    rows: int


def shared_axes(stages: Sequence[Tensor]) -> Mapping[str, tuple[Axis | None, ...]]:
    """For each stage, which axis of the last one each of its dimensions is, where that holds for every reader.

    An axis counts only if all stages have it: another one would make a stage compute the same again and again.
    """
    *before, last = stages
    found: dict[str, tuple[Axis | None, ...]] = {last.name: last.axes}
    for stage in reversed(before):
        uses = [
            tuple(_own(reader, found[reader.name]).get(index) for index in read.indices)
            for reader in stages
            if reader.name in found and reader.body is not None
            for read in reads(reader.body)
            if read.tensor.name == stage.name
        ]
        agreed = [set(use) for use in zip(*uses, strict=True)]
        found[stage.name] = tuple(use.pop() if len(use) == 1 else None for use in agreed)
    common = set.intersection(*(set(axes) for axes in found.values())) - {None}
    return {name: tuple(axis if axis in common else None for axis in axes) for name, axes in found.items()}


def _own(stage: Tensor, shared: Sequence[Axis | None]) -> dict[ir.Expr, Axis]:
    """The stage's own axes that are shared ones."""
    return {own: axis for own, axis in zip(stage.axes, shared, strict=True) if axis is not None}


def lower_blocks(
    stages: Sequence[Tensor],
    blocks: Blocks,
    name: str,
    layouts: Mapping[str, Layout | None],
    params: Mapping[str, str],
    spec: TargetSpec,
    effort: Effort,
) -> Lowered:
    """The kernel of stages that share rows. `params` names every value that is read or written, and those between.

    Raises NotShared.
    """
    return _Blocks(stages, blocks, layouts, params, spec, effort).lowered(name)


class _Blocks:
    def __init__(
        self,
        stages: Sequence[Tensor],
        blocks: Blocks,
        layouts: Mapping[str, Layout | None],
        params: Mapping[str, str],
        spec: TargetSpec,
        effort: Effort,
    ) -> None:
        self._blocks, self._params, self._spec, self._effort = blocks, params, spec, effort
        self._whole = [physical(stage, layouts) for stage in stages]
        defined = [Tensor(s.output.name, s.output.shape, s.output.dtype, s.axes, s.body) for s in self._whole]
        self._shared = shared_axes(defined)
        if any(blocks.along not in axes for axes in self._shared.values()):
            raise NotShared
        shared = self._shared[defined[-1].name]
        self._outer = [axis for axis in shared if axis is not None and axis != blocks.along]
        self._between = {stage.output.name for stage in self._whole[:-1]}
        self._buffers: dict[str, Buffer] = {}
        self._parts: list[Part] = []
        self._count: dict[str, int] = dict.fromkeys(params.values(), 1)

    def lowered(self, name: str) -> Lowered:
        size, rows = self._blocks.along.extent, self._blocks.rows
        assert isinstance(size, int)
        scope, lets, count = self._tasks()
        start = Var("block")
        rest = size % rows
        last = size - rest - rows
        bodies = [self._body(rows, scope.variable("block", 0, max(last, 0), rows))]
        if rest and size > rows:
            tail = self._body(rest, scope.variable("block", size - rest, size - rest))
            bodies = [[If(build.less(start, size - rest), tuple(bodies[0]), tuple(tail))]]
        local = [b for b in self._buffers.values() if b.space == "local"]
        body = (*lets, *map(Allocate, local), *bodies[0])
        kernel = Kernel(
            name, self._parameters(), (For("task", build.index(0), build.index(count), body, 1, "parallel"),)
        )
        outside = [b for b in self._buffers.values() if b.space == "global"]
        values = {self._params[value]: value for value in self._params}
        return Lowered(
            kernel,
            tuple(values[buffer.name] for buffer in kernel.params),
            (None,) * len(kernel.params),
            self._parts[-1].plan,
            (f"one kernel for {len(self._whole)} stages, {rows} rows of {self._blocks.along.name} at a time",),
            sum(map(flops, self._whole)),
            sum(elements(b.shape) * b.dtype.itemsize for b in outside),
            tuple(self._parts),
        )

    def _parameters(self) -> tuple[Buffer, ...]:
        """Each once, the output last."""
        outside = [b for b in self._buffers.values() if b.space == "global"]
        return (*(b for b in outside if b.access == "read"), *(b for b in outside if b.access != "read"))

    def _tasks(self) -> tuple[Scope, list[Stmt], int]:
        """One loop over all blocks of all outer axes: what each axis is in a task, and how many tasks there are."""
        size = self._blocks.along.extent
        assert isinstance(size, int)
        count = -(-size // self._blocks.rows)
        sizes = [axis.extent for axis in self._outer if isinstance(axis.extent, int)]
        scope, lets, left = Scope(), list[Stmt](), prod(sizes) * count
        total = left
        for number, axis in enumerate(self._outer):
            assert isinstance(axis.extent, int)
            name = f"outer_{number}"
            left //= axis.extent
            place: Expr = build.floor_div(Var("task"), left)
            lets.append(Let(name, place if number == 0 else build.mod(place, axis.extent)))
            scope = scope.bind(self._around(axis), Var(name)).variable(name, 0, axis.extent - 1)
        block: Expr = Var("task") if not self._outer else build.mod(Var("task"), count)
        lets.append(Let("block", build.mul(block, self._blocks.rows)))
        return scope.bind(self._around(self._blocks.along), Var("block")), lets, total

    @staticmethod
    def _around(axis: Axis) -> Axis:
        """The shared axis as it stands outside of the stages: a number that they know nothing more of."""
        return Axis(f"around_{axis.name}", axis.extent)

    # --- the stages of a block

    def _body(self, rows: int, scope: Scope) -> list[Stmt]:
        self._parts = []
        return [statement for whole in self._whole for statement in self._stage(self._cut(whole, rows), scope)]

    def _stage(self, stage: Stage, scope: Scope) -> list[Stmt]:
        chosen = choose(stage, self._spec, (), NOTHING_ASKED, self._effort)
        buffers = {t: self._buffer(t) for t in dict.fromkeys(r.tensor for r in reads(stage.body))}
        buffers[stage.output] = self._buffer(stage.output, written=True)
        plan, reasons = serial(chosen.plan), chosen.reasons
        before = dict(self._count)
        try:
            statements = Nest(stage, plan, buffers, scope, self._count).statements()
        except NotVectorisable:
            self._count = before
            plan, reasons = serial(scalar_plan(stage)), (*reasons, "scalar after all: lanes are not evenly spaced")
            statements = Nest(stage, plan, buffers, scope, self._count).statements()
        self._parts.append(Part(stage.output.name, plan, reasons))
        return statements

    def _buffer(self, tensor: Tensor, *, written: bool = False) -> Buffer:
        """The parameter or the block's own array; one name may be read in several shapes."""
        name = self._params[tensor.name]
        if tensor.name in self._between:
            own = Buffer(name, tensor.dtype, tensor.shape, "local", "update")
        else:
            own = Buffer(name, tensor.dtype, tensor.shape, "global", "write" if written else "read")
        known = self._buffers.get(name)
        if known is None or elements(known.shape) < elements(own.shape):
            self._buffers[name] = own
        return own

    def _cut(self, whole: Stage, rows: int) -> Stage:
        """The stage for one block: shared axes are given from outside, the one along the blocks counts its rows."""
        shared = dict(zip(whole.axes, self._shared[whole.output.name], strict=True))
        values: dict[Axis, ir.Expr] = {}
        axes: list[Axis] = []
        row: Axis | None = None
        for own, axis in shared.items():
            if axis is None:
                axes.append(own)
            elif axis == self._blocks.along:
                row = Axis(f"{own.name}_in_block", rows)
                axes.append(row)
                values[own] = apply("add", self._around(axis), row)
            else:
                values[own] = self._around(axis)
        assert row is not None

        def change(read: Read) -> ir.Expr:
            if read.tensor.name not in self._between:
                return read
            kept = self._kept(read.tensor, rows)
            indices = tuple(row if size is None else read.indices[place] for place, size in kept.items())
            return Read(self._local(read.tensor, rows), indices)

        body = replace_axes(map_reads(whole.body, change), values)
        outer = tuple(map(self._around, (*self._outer, self._blocks.along)))
        if whole.output.name in self._between:
            stage = Stage(self._local(whole.output, rows), tuple(axes), tuple(axes), body, outer)
            return collapse(stage)
        indices = tuple(replace_axes(index, values) for index in whole.indices)
        return Stage(whole.output, tuple(axes), indices, body, outer)

    def _kept(self, tensor: Tensor, rows: int) -> dict[int, int | None]:
        """The dimensions that a block's array of a value has: those of its own by size, the rows as None."""
        kept: dict[int, int | None] = {}
        for place, (axis, size) in enumerate(zip(self._shared[tensor.name], tensor.shape, strict=True)):
            assert isinstance(size, int)
            if axis is None:
                kept[place] = size
            elif axis == self._blocks.along:
                kept[place] = None
        return kept

    def _local(self, tensor: Tensor, rows: int) -> Tensor:
        shape = tuple(rows if size is None else size for size in self._kept(tensor, rows).values())
        return replace(tensor, shape=shape, axes=(), body=None)
