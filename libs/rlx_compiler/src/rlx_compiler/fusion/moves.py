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
        moves |= {move.name: move for move in _moves(module, through) if move.name not in returned}
        kept.append(through)
    used = {read.tensor.name for group in kept for stage in group.stages for read in _reads(stage)}
    used |= {name for group in kept if not group.stages for node in group.nodes for name in node.operands if name}
    return [one for one in kept if not one.stages or any(s.name not in moves or s.name in used for s in one.stages)]


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


def _moves(module: Module, group: Group) -> list[Tensor]:
    """What of the group only says where the elements of another value are, and keeps rows together."""
    return [stage for stage in group.stages if _is_move(module, stage)]


def _is_move(module: Module, stage: Tensor) -> bool:
    body = stage.body
    if not isinstance(body, Read) or body.tensor.dtype != stage.dtype or stage.rank < 2:
        return False
    names = (stage.name, body.tensor.name)
    if any(name not in module.types or module.tensor(name).layout is not None for name in names):
        return False
    return _keeps_rows(stage, body)


def _keeps_rows(stage: Tensor, read: Read) -> bool:
    """Whether neighbours along the last axis are neighbours in the source."""
    places = offsets(read, stage.axes)
    if places is None or places.shape[-1] < 2:
        return False
    return bool(np.all(np.diff(places, axis=-1) == 1))
