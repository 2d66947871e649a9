"""Who is there: each observer judges by its own clock, and no two clocks are ever compared.

A node is **alive** while its own sequence advances, **suspect** when it missed three reports, **down** when
it missed six. A new incarnation is a new life. A machine whose clock is ten minutes off is as alive as any
other.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

from rlx_wire.nodes import Liveness, NodeRecord, NodeView

__all__ = ["Change", "Member", "Monotonic", "Patience", "View", "elapse", "forget", "forgive", "observe"]

Monotonic = float
"""Seconds of one process's monotonic clock. Meaningless anywhere else."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How many reports, `heartbeat` seconds apart, a node may miss."""

    heartbeat: float = 0.5
    suspect_after: int = 3
    down_after: int = 6

    def judge(self, silence: float) -> Liveness:
        """What `silence` seconds without an advance mean."""
        if silence < self.heartbeat * self.suspect_after:
            return "alive"
        return "suspect" if silence < self.heartbeat * self.down_after else "down"


@dataclass(frozen=True, slots=True)
class Member:
    """A node's newest record, when it last advanced by my clock, and what I think of that."""

    record: NodeRecord
    advanced: Monotonic
    liveness: Liveness = "alive"


@dataclass(frozen=True, slots=True)
class View:
    """What one observer knows. `version` grows with every change, of a record or of a judgement."""

    members: Mapping[str, Member] = field(default_factory=lambda: MappingProxyType({}))
    patience: Patience = Patience()
    version: int = 0

    def nodes(self, now: Monotonic) -> tuple[NodeView, ...]:
        """The view as the wire carries it, sorted by id; nodes that have left are not in it."""
        return tuple(
            NodeView(
                record=member.record, liveness=member.liveness, age_ms=max(0, round((now - member.advanced) * 1e3))
            )
            for _, member in sorted(self.members.items())
            if not member.record.left
        )


@dataclass(frozen=True, slots=True)
class Change:
    """A node's liveness before and after; None where it was not, or is no longer, a member."""

    node: str
    before: Liveness | None
    after: Liveness | None


_GONE: Final = None


def observe(view: View, report: NodeRecord, now: Monotonic, age: float = 0.0) -> tuple[View, list[Change]]:
    """A node is alive while its own sequence advances by *my* clock; no two clocks are ever compared.

    `age` is how long ago, by the clock of whoever passes the report on, the sequence advanced: a duration,
    which clocks that disagree measure alike. What is older than what I know, or the same again, changes
    nothing.
    """
    known = view.members.get(report.id)
    if known is not None and report.clock <= known.record.clock:
        return elapse(view, now)
    before = None if known is None or known.record.left else known.liveness
    member = Member(report, now - age, view.patience.judge(age))
    after = _GONE if report.left else member.liveness
    members = MappingProxyType({**view.members, report.id: member})
    seen = replace(view, members=members, version=view.version + 1)
    changes = [Change(report.id, before, after)] if before != after else []
    judged, more = elapse(seen, now)
    return judged, changes + more


def elapse(view: View, now: Monotonic) -> tuple[View, list[Change]]:
    """Time alone passes: nodes that did not advance become suspect, then down."""
    changes: list[Change] = []
    members = dict(view.members)
    for node, member in view.members.items():
        liveness = view.patience.judge(now - member.advanced)
        if member.record.left or liveness == member.liveness:
            continue
        members[node] = replace(member, liveness=liveness)
        changes.append(Change(node, member.liveness, liveness))
    if not changes:
        return view, changes
    return replace(view, members=MappingProxyType(members), version=view.version + 1), changes


def forget(view: View, nodes: Collection[str]) -> tuple[View, list[Change]]:
    """These nodes are members no more: whoever passes reports on says that they left."""
    gone = [node for node in sorted(nodes) if node in view.members]
    if not gone:
        return view, []
    members = {node: member for node, member in view.members.items() if node not in gone}
    changes = [Change(node, view.members[node].liveness, None) for node in gone]
    return replace(view, members=MappingProxyType(members), version=view.version + 1), changes


def forgive(view: View, seconds: float) -> View:
    """The view after `seconds` in which no report could reach me: nodes are not blamed for my own silence."""
    members = {node: replace(m, advanced=m.advanced + seconds) for node, m in view.members.items()}
    return replace(view, members=MappingProxyType(members))
