"""The actor: what makes a process a node. It runs what it holds, passes on the rest, and reports its level.

```
Actor
├── Holdings        what runs here            ── executors of rlx_runtime
├── ClusterView     who else is there         ── GssLink: beat, poll
├── Reconciler      what should run here      ── DeploymentWatch: poll; BundleStore: pull
└── DataPlane       the path of a request     ── Peers: one hop
```

The parts are single steps; here they are repeated. The scheduler is this actor without devices.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Final

import httpx

from rlx_base.errors import RlxError
from rlx_cluster.deployments import Replica
from rlx_node.access import AskedKeys
from rlx_node.bundles import BundleStore
from rlx_node.dataplane import DataPlane
from rlx_node.deployments import DeploymentWatch
from rlx_node.gss import GssLink
from rlx_node.holdings import DeviceExecutor, Holdings
from rlx_node.level import Level
from rlx_node.memory import NodeMemory
from rlx_node.peaks import Peaks
from rlx_node.peers import Peers
from rlx_node.reconcile import Reconciler
from rlx_node.settings import NodeSettings
from rlx_node.statistics import Statistics
from rlx_node.view import ClusterView
from rlx_wire.nodes import Addresses, Capabilities, Device, NodeRecord, NodeRegistration, NodeStatus

__all__ = ["Actor"]

_log = logging.getLogger("rlx.node")

VERSION: Final = version("rlx-node")
_RETRY_S: Final = 0.5
_RECONCILE_S: Final = 1.0
# Others hear of a drain by their long polls; until then they may still send something.
_SETTLE_S: Final = 0.5


class Actor:
    """One node's state and work. `start` and `close` bracket its life; `drain` comes before a `close` in
    peace.
    """

    def __init__(
        self,
        settings: NodeSettings,
        devices: tuple[Device, ...],
        capabilities: Capabilities,
        executors: Mapping[str, DeviceExecutor],
        http: httpx.AsyncClient,
        clock: Callable[[], float] = time.monotonic,
        local: Mapping[Replica, Path] | None = None,
    ) -> None:
        self.settings = settings
        self.draining = False
        self._devices = devices
        self._capabilities = capabilities
        self._http = http
        memory = NodeMemory(settings.data_folder)
        self.statistics = Statistics()
        self.holdings = Holdings(devices, executors)
        self._level = Level(self.holdings, clock)
        self.view = ClusterView(self.record, clock)
        self.gss = GssLink(settings.cluster.gss.endpoints, http, memory, self.view, self._registration, self._status)
        self.deployments = DeploymentWatch(settings.cluster.api, http, memory)
        self.reconciler = Reconciler(
            lambda: self.deployments.items,
            self.record,
            self.view.nodes,
            self.holdings,
            BundleStore(memory.bundles, http, settings.cluster.api),
            clock,
            local,
        )
        self.peers = Peers(http, settings.node)
        api = settings.cluster.api
        self.asked_keys = None if api is None else AskedKeys(api, http, clock)
        self.dataplane = DataPlane(
            settings.node,
            self.view,
            self.holdings,
            self.peers,
            self.reconciler,
            self.statistics,
            settings.links,
            Peaks(),
        )
        self._tasks: list[asyncio.Task[None]] = []
        self._news = asyncio.Event()
        self._report = asyncio.Event()

    @property
    def distributed(self) -> bool:
        return self.settings.cluster.mode == "distributed"

    @property
    def ready(self) -> bool:
        """Whether a request could run: some node, this or another, lives, does not drain and has a device
        that runs.
        """
        if self.holdings.ready and not self.draining:
            return True
        others = (node for node in self.view.nodes() if node.record.id != self.settings.node)
        return not self.draining and any(node.liveness == "alive" and node.record.runs for node in others)

    def record(self) -> NodeRecord:
        """This node as it is now."""
        incarnation = max(1, self.gss.incarnation)
        node = self._registration()
        return NodeRecord(
            id=node.id,
            incarnation=incarnation,
            sequence=1,
            addresses=node.addresses,
            capabilities=node.capabilities,
            devices=node.devices,
            version=node.version,
            status=self._status(incarnation, 1),
        )

    async def start(self) -> None:
        """Starts the executors and the work that repeats. Raises E515 where an executor cannot start."""
        await self.holdings.start()
        self._repeat("reconcile", self._reconcile)
        if self.distributed:
            self._repeat("report to the GSS", self._beat)
            self._repeat("ask the GSS for nodes", self._poll)
            if self.settings.cluster.api is not None:
                self._repeat("ask compile-api for deployments", self._watch)

    async def drain(self) -> None:
        """Takes no more requests, tells the others, and lets those that run end, as long as the settings
        allow.
        """
        self.draining = True
        _log.info("draining")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.settings.drain_seconds):
                if self.distributed:
                    with contextlib.suppress(RlxError):
                        await self.gss.beat()
                        await asyncio.sleep(_SETTLE_S)
                await self.dataplane.idle()

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
        if self.distributed:
            with contextlib.suppress(RlxError):
                await self.gss.leave()
        await self.holdings.close()
        await self._http.aclose()

    def _registration(self) -> NodeRegistration:
        return NodeRegistration(
            id=self.settings.node,
            addresses=Addresses(http=self.settings.url),
            capabilities=self._capabilities,
            devices=self._devices,
            version=VERSION,
        )

    def _status(self, incarnation: int, sequence: int) -> NodeStatus:
        return self._level.status(incarnation, sequence, self.draining)

    def _repeat(self, what: str, step: Callable[[], Awaitable[float]]) -> None:
        self._tasks.append(asyncio.create_task(_forever(what, step), name=what))

    async def _beat(self) -> float:
        self._report.clear()
        await self.gss.beat()
        # What was just loaded is reported at once: somebody may be waiting for it.
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._report.wait(), self.gss.heartbeat)
        return 0.0

    async def _poll(self) -> float:
        await self.gss.poll()
        self._news.set()
        return self.gss.heartbeat / 5

    async def _watch(self) -> float:
        if await self.deployments.poll():
            self._news.set()
        return 0.0

    async def _reconcile(self) -> float:
        self._news.clear()
        # A node that drains keeps what it holds: the requests that still run need it.
        while not self.draining and await self.reconciler.step():
            self._report.set()
        pause = self.reconciler.pause()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._news.wait(), _RECONCILE_S if pause is None else min(pause, _RECONCILE_S))
        return 0.0


async def _forever(what: str, step: Callable[[], Awaitable[float]]) -> None:
    """Repeats a step. Its failure is said once, and once more when it works again."""
    failing = False
    while True:
        try:
            pause = await step()
            if failing:
                _log.info("can %s again", what)
            failing = False
        except RlxError as error:
            if not failing:
                _log.warning("cannot %s: %s", what, error)
            failing, pause = True, _RETRY_S
        except Exception:
            # A fault in one part must not silence the others, nor this part for ever.
            _log.exception("fault while trying to %s", what)
            failing, pause = True, _RETRY_S
        await asyncio.sleep(pause)
