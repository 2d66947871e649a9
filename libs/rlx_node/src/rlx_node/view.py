"""The cluster as this actor sees it: the others by the GSS's word and its own clock, itself by its own."""

from __future__ import annotations

import logging
from collections.abc import Callable

from rlx_cluster.membership import Change, Patience, View, elapse, forget, forgive, observe
from rlx_wire.nodes import NodeRecord, NodesView, NodeView

__all__ = ["ClusterView"]

_log = logging.getLogger("rlx.node")


class ClusterView:
    """While no GSS answers, the view stands still: nodes are not blamed for a silence that is not theirs."""

    def __init__(self, here: Callable[[], NodeRecord], clock: Callable[[], float]) -> None:
        self._here = here
        self._clock = clock
        self._view = View(patience=Patience())
        self._epoch = ""
        # Whom this life of the GSS has named: when it names them no more, they left.
        self._named: frozenset[str] = frozenset()
        self._heard = clock()

    @property
    def version(self) -> int:
        return self._view.version

    @property
    def age(self) -> float:
        """Seconds since a GSS last answered."""
        return self._clock() - self._heard

    def absorb(self, news: NodesView) -> None:
        """Takes in an answer of the GSS."""
        now = self._clock()
        patience = self._view.patience
        if (silence := now - self._heard) > patience.heartbeat * patience.suspect_after:
            self._view = forgive(self._view, silence)
        self._heard = now
        for node in news.nodes:
            if node.record.id != self._here().id:
                self._adopt(*observe(self._view, node.record, now, node.age_ms / 1e3))
        named = frozenset(node.record.id for node in news.nodes)
        if news.epoch == self._epoch:
            self._adopt(*forget(self._view, self._named - named))
            self._named |= named
        else:
            # A GSS that has just begun does not know everybody yet: only silence tells who of the others is gone.
            self._epoch, self._named = news.epoch, named
        self._adopt(*elapse(self._view, now))

    def nodes(self) -> tuple[NodeView, ...]:
        """All nodes, this one included, sorted by id."""
        mine = NodeView(record=self._here(), liveness="alive", age_ms=0)
        others = [node for node in self._view.nodes(self._clock()) if node.record.id != mine.record.id]
        return tuple(sorted((mine, *others), key=lambda node: node.record.id))

    def as_wire(self) -> NodesView:
        return NodesView(version=self.version, epoch=self._epoch, nodes=self.nodes())

    def _adopt(self, view: View, changes: list[Change]) -> None:
        for change in changes:
            _log.info("node %s: %s → %s", change.node, change.before or "new", change.after or "left")
        self._view = view
