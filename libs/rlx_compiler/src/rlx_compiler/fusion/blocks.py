"""Ops that share rows in one kernel: a softmax, a layer norm, an attention, computed some rows at a time.

What stands between them then never leaves the caches. A group is taken into its only reader where both have an axis in
common, and neither reads more for each block than the caches hold: weights that every block would read again are
better used by a kernel of their own, which goes through them once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import prod
from typing import Final

from rlx_compiler.fusion.groups import FusionChoice, Group, worth
from rlx_compiler.lowering.blocks import Blocks, shared_axes
from rlx_compiler.lowering.substitute import reads, reduces
from rlx_compiler.targets.spec import TargetSpec
from rlx_ir.expr import Axis, Expr, Reduce, Tensor, walk
from rlx_ir.module import Module
from rlx_ir.schedule import NO_SCHEDULE

__all__ = ["share_blocks"]

_NEAR: Final = 64 << 10  # bytes of a block's own arrays
_MOST_ROWS: Final = 26  # two register tiles of a product
_FEW_ROWS: Final = 8  # where no product uses what it loads for all rows
_FEWEST_ROWS: Final = 4  # for a product: with fewer, every load serves too little
_FEW_TASKS: Final = 8
_CONSTANT: Final = 16 << 10  # bytes of a constant that a sum may read for each block; a larger one is packed


def share_blocks(module: Module, spec: TargetSpec, groups: Sequence[Group]) -> list[Group]:
    """The groups, those that share rows as one. On a device of many small cores each stage has a grid of its own."""
    if spec.threads_per_block is not None:
        return list(groups)
    return _Sharing(module, spec, groups).groups()


class _Sharing:
    def __init__(self, module: Module, spec: TargetSpec, groups: Sequence[Group]) -> None:
        self._module, self._spec, self._groups = module, spec, groups
        self._returned = {output.value for output in module.outputs}
        self._readers = Counter(name for group in groups for name in _read_names(group.stages))
        self._readers.update(
            name for group in groups if not group.stages for node in group.nodes for name in node.operands if name
        )
        self._owner: dict[str, Group] = {}

    def groups(self) -> list[Group]:
        kept: list[Group] = []
        for group in self._groups:
            if not group.stages:  # the host's
                kept.append(group)
                continue
            joined = self._joined(group)
            inside = {stage.name for stage in joined.stages[:-1]}
            kept = [one for one in kept if not one.stages or one.stages[-1].name not in inside]
            kept.append(joined)
            self._owner[joined.stages[-1].name] = joined
        return kept

    def _joined(self, group: Group) -> Group:
        """The group with those producers that can be computed block by block with it."""
        if not self._may_share(group) or not (len(group.stages) > 1 or _has_sums(group.stages[-1])):
            return group
        nodes, stages, choices = list(group.nodes), list(group.stages), list(group.choices)
        for name in _read_names(group.stages):
            producer = self._owner.get(name)
            if producer is None or name in self._returned or self._readers[name] > 1:
                continue
            longer = [*producer.stages, *stages]
            if not self._may_share(producer) or self._blocks(longer) is None:
                continue
            if not any(map(_has_sums, producer.stages)) and _common(longer) != _common(stages):
                continue  # a matrix in another order, say: it serves more rows than those of one block
            pays, reason = worth(self._module, name, self._spec)
            choices.append(FusionChoice(name, group.stages[-1].name, pays, f"{reason}; some rows at a time"))
            if pays:
                nodes, stages, choices = [*producer.nodes, *nodes], longer, [*producer.choices, *choices]
        blocks = self._blocks(stages) if len(stages) > 1 and any(map(_has_sums, stages)) else None
        return Group(nodes, stages, choices, blocks)

    def _may_share(self, group: Group) -> bool:
        """Whether its values are stored plainly, and no author planned its loops. Windows have plans of their own."""
        if any(node.schedule != NO_SCHEDULE or len(node.results) != 1 for node in group.nodes):
            return False
        if any(hasattr(node.op, "strides") for node in group.nodes):
            return False
        values = {stage.name for stage in group.stages} & set(self._module.types)
        return all(self._module.tensor(name).layout is None for name in values)

    def _blocks(self, stages: Sequence[Tensor]) -> Blocks | None:
        """How the stages are cut; None where they share no axis or need more near than there is room for."""
        shared = shared_axes(stages)
        sizes = {axis: axis.extent for axis in _common(stages) if isinstance(axis.extent, int)}
        known = all(isinstance(size, int) and size > 0 for stage in stages for size in stage.shape)
        along = next((a for a in reversed(shared[stages[0].name]) if a is not None and sizes.get(a, 0) > 1), None)
        if along is None or not known or not all(self._serves(stage, shared[stage.name]) for stage in stages):
            return None
        row = sum(_row_bytes(stage, shared[stage.name]) for stage in stages[:-1])
        product = any(_is_product(reduce) for stage in stages for reduce in reduces(_body(stage)))
        rows = min(_MOST_ROWS if product else _FEW_ROWS, _NEAR // max(row, 1))
        if rows < (_FEWEST_ROWS if product else 1):
            return None
        size = sizes[along]
        around = prod(sizes.values()) // size
        count = min(size, max(-(-size // rows), -(-_FEW_TASKS // around)))
        return Blocks(along, -(-size // count))

    def _serves(self, stage: Tensor, shared: Sequence[Axis | None]) -> bool:
        """Whether what a sum reads again for each block is near: neither weights, nor more than half a cache."""
        fixed = {own for own, axis in zip(stage.axes, shared, strict=True) if axis is not None}
        for reduce in reduces(_body(stage)):
            for read in reads(reduce.body):
                used = {part for index in read.indices for part in walk(index) if isinstance(part, Axis)} - fixed
                size = prod(axis.extent for axis in used if isinstance(axis.extent, int)) * read.tensor.dtype.itemsize
                most = _CONSTANT if read.tensor.name in self._module.constant else self._spec.l2_bytes // 2
                if size > most:
                    return False
        return True


def _common(stages: Sequence[Tensor]) -> set[Axis]:
    """The axes of more than one element that all stages share."""
    return {axis for axis in shared_axes(stages)[stages[-1].name] if axis is not None and axis.extent != 1}


def _body(stage: Tensor) -> Expr:
    assert stage.body is not None
    return stage.body


def _has_sums(stage: Tensor) -> bool:
    return bool(reduces(_body(stage)))


def _read_names(stages: Sequence[Tensor]) -> list[str]:
    """What the stages read, but for each other."""
    own = {stage.name for stage in stages}
    return [name for name in dict.fromkeys(r.tensor.name for s in stages for r in reads(_body(s))) if name not in own]


def _row_bytes(stage: Tensor, shared: Sequence[Axis | None]) -> int:
    """What one row of a block keeps of a stage."""
    sizes = [size for size, axis in zip(stage.shape, shared, strict=True) if axis is None]
    return prod(size for size in sizes if isinstance(size, int)) * stage.dtype.itemsize


def _is_product(reduce: Reduce) -> bool:
    return len(set(reads(reduce.body))) > 1
