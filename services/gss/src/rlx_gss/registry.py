"""The state of one replica: the records, what this replica thinks of each node, and who waits for news."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable

from rlx_base.errors import ClusterError
from rlx_cluster.lww import leave, register, report
from rlx_cluster.membership import Change, Patience, View, elapse, observe
from rlx_gss.store import NodeStore
from rlx_wire.nodes import NodeRecord, NodeRegistered, NodeRegistration, NodeStatus, NodesView

__all__ = ["Registry"]

_log = logging.getLogger("rlx.gss")


class Registry:
    """Applies what nodes say to the view, keeps it in the store, and wakes long polls.

    Everything that decides is in `rlx_cluster`; here are only the lock-free single thread of asyncio, the
    store and the waiting.
    """

    def __init__(self, store: NodeStore, clock: Callable[[], float], heartbeat: float = 0.5) -> None:
        self._store = store
        self._clock = clock
        self._view = View(patience=Patience(heartbeat))
        self._changed = asyncio.Event()
        # Versions count within one life of this process.
        self._epoch = uuid.uuid4().hex
        # Set while the store may lack records that are held here.
        self._unsaved = True

    async def restore(self) -> None:
        """Takes up what an earlier process kept. A store that cannot be read is a warning."""
        try:
            for record in await self._store.load():
                self._apply(record)
        except ClusterError as error:
            _log.warning("starting with an empty view: %s", error.message)

    async def register(self, node: NodeRegistration) -> NodeRegistered:
        """Begins a new life of a node."""
        record = register(self._records, node)
        await self._keep(record)
        heartbeat_ms = round(self._view.patience.heartbeat * 1e3)
        return NodeRegistered(id=record.id, incarnation=record.incarnation, heartbeat_ms=heartbeat_ms)

    async def report(self, node: str, status: NodeStatus) -> None:
        """Takes a node's status. Raises E501: this replica does not know it, so it has to register again."""
        record = report(self._records, node, status)
        if record is None:
            raise ClusterError("E501", node=node, incarnation=status.incarnation)
        await self._keep(record)

    async def leave(self, node: str, incarnation: int | None) -> None:
        """A node says goodbye in its own name (with its incarnation), or an operator removes one that is
        down.

        Raises E501 for a node, or a life of it, that is not known; E509 where an operator means a living
        node.
        """
        self.tick()
        member = self._view.members.get(node)
        if member is None or member.record.left:
            raise ClusterError("E501", node=node, incarnation=incarnation or "any")
        if incarnation is None and member.liveness != "down":
            raise ClusterError("E509", node=node, state=member.liveness)
        if incarnation is not None and incarnation != member.record.incarnation:
            raise ClusterError("E501", node=node, incarnation=incarnation)
        await self._keep(leave(member.record))

    def view(self) -> NodesView:
        """Who is there now, by this replica's clock. A node that has registered and not reported yet is not: nobody
        knows what it has loaded.
        """
        self.tick()
        nodes = tuple(node for node in self._view.nodes(self._clock()) if node.record.status is not None)
        return NodesView(version=self._view.version, epoch=self._epoch, nodes=nodes)

    async def news(self, version: int, epoch: str, wait: float) -> NodesView:
        """The view once it differs from the one named, or after `wait` seconds."""
        try:
            async with asyncio.timeout(wait):
                while epoch == self._epoch and self.view().version <= version:
                    await self._changed.wait()
        except TimeoutError:
            pass
        return self.view()

    def tick(self) -> None:
        """Time passed: those that fell silent become suspect, then down."""
        self._adopt(*elapse(self._view, self._clock()))

    @property
    def _records(self) -> dict[str, NodeRecord]:
        return {node: member.record for node, member in self._view.members.items()}

    def _apply(self, record: NodeRecord) -> None:
        self._adopt(*observe(self._view, record, self._clock()))

    def _adopt(self, view: View, changes: list[Change]) -> None:
        for change in changes:
            _log.info("node %s: %s → %s", change.node, change.before or "new", change.after or "left")
        if view.version != self._view.version:
            self._changed.set()
            self._changed = asyncio.Event()
        self._view = view

    async def _keep(self, record: NodeRecord) -> None:
        self._apply(record)
        try:
            if self._unsaved:
                # After an outage the store may be empty or behind; what it has that is newer is taken up.
                for stored in await self._store.load():
                    self._apply(stored)
                await self._store.save(self._records)
            else:
                await self._store.save({record.id: record})
        except ClusterError as error:
            if not self._unsaved:
                _log.warning("%s", error.message)
            self._unsaved = True
        else:
            self._unsaved = False
