"""Reading through a transpose, a slice or a reshape: the reader computes where the elements lie, and nothing is copied.

Only where neighbours stay neighbours: heads are split off and put side by side for nothing, since a head is read along
its own dimension, while a transposed matrix is better written once than gathered by every reader.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rlx_compiler.fusion.groups import FusionChoice, Group
from rlx_compiler.lowering.substitute import inline, reads
from rlx_compiler.lowering.views import offsets
from rlx_ir.expr import Read, Tensor
from rlx_ir.module import Module

__all__ = ["read_through"]


def read_through(module: Module, groups: Sequence[Group]) -> list[Group]:
    """The groups without moves that all readers can do without."""
    kept: list[Group] = []
    returned = {output.value for output in module.outputs}
    moves: dict[str, Tensor] = {}
    for group in groups:
        through = _through(group, moves)
        move = _move(module, through)
        if move is not None and move.name not in returned:
            moves[move.name] = move
        kept.append(through)
    used = {read.tensor.name for group in kept for stage in group.stages for read in _reads(stage)}
    read_by_host = {name for group in kept if not group.stages for node in group.nodes for name in node.operands}
    used |= {name for name in read_by_host if name is not None}
    return [one for one in kept if not one.stages or one.stages[-1].name not in moves or one.stages[-1].name in used]


def _reads(stage: Tensor) -> list[Read]:
    return [] if stage.body is None else list(reads(stage.body))


def _through(group: Group, moves: dict[str, Tensor]) -> Group:
    """The group, reading what the moves read."""
    found = dict.fromkeys(read.tensor.name for stage in group.stages for read in _reads(stage))
    taken = [moves[name] for name in found if name in moves]
    if not taken:
        return group
    stages = list(group.stages)
    for move in taken:
        stages = [
            replace(stage, body=inline(stage.body, move)) if stage.body is not None else stage for stage in stages
        ]
    reason = "its reader finds the elements where they are, neighbours still side by side"
    choices = [FusionChoice(move.name, group.stages[-1].name, True, reason) for move in taken]
    return replace(group, stages=stages, choices=[*choices, *group.choices])


def _move(module: Module, group: Group) -> Tensor | None:
    """What the group gives, if it only says where the elements of another value are, and keeps rows together."""
    if len(group.stages) != 1 or any(len(node.results) != 1 for node in group.nodes[:-1]):
        return None
    stage = group.stages[-1]
    body = stage.body
    if not isinstance(body, Read) or body.tensor.dtype != stage.dtype or stage.rank < 2:
        return None
    names = (stage.name, body.tensor.name)
    if any(name not in module.types or module.tensor(name).layout is not None for name in names):
        return None
    return stage if _keeps_rows(stage, body) else None


def _keeps_rows(stage: Tensor, read: Read) -> bool:
    """Whether neighbours along the last axis are neighbours in the source."""
    places = offsets(read, stage.axes)
    if places is None or places.shape[-1] < 2:
        return False
    return bool(np.all(np.diff(places, axis=-1) == 1))
