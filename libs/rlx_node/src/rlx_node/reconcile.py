"""From what is deployed to what runs here: one action at a time, until nothing is left to do.

An action that fails is tried again later and later; it does not hold up the others.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from rlx_base.errors import RlxError
from rlx_cluster.deployments import Action, Load, Pull, Replica, Unload, compiled, reconcile, share
from rlx_cluster.placement import is_meant
from rlx_node.bundles import BundleStore
from rlx_node.holdings import Holdings
from rlx_wire.api import Deployment
from rlx_wire.nodes import NodeRecord, NodeView

__all__ = ["Pending", "Reconciler"]

_log = logging.getLogger("rlx.node")

_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 60.0


@dataclass(frozen=True, slots=True)
class Pending:
    """Why a model cannot run yet. `help` says what to do where to ask again would not be enough."""

    why: str
    help: str | None = None


class Reconciler:
    """`step` does one action; the actor repeats it. `local` are bundles that this node was started with."""

    def __init__(
        self,
        deployed: Callable[[], tuple[Deployment, ...]],
        here: Callable[[], NodeRecord],
        nodes: Callable[[], tuple[NodeView, ...]],
        holdings: Holdings,
        bundles: BundleStore,
        clock: Callable[[], float],
        local: Mapping[Replica, Path] | None = None,
    ) -> None:
        self._deployed = deployed
        self._here = here
        self._nodes = nodes
        self._holdings = holdings
        self._bundles = bundles
        self._clock = clock
        self._local = dict(local or {})
        self._pauses: dict[Action, tuple[float, float]] = {}
        self._failures: dict[str, str] = {}

    async def step(self) -> bool:
        """Does the next action that is due; whether there was one."""
        actions = self._actions()
        self._pauses = {action: pause for action, pause in self._pauses.items() if action in actions}
        now = self._clock()
        for action in actions:
            if self._pauses.get(action, (0.0, 0.0))[0] <= now:
                await self._try(action)
                return True
        return False

    def pause(self) -> float | None:
        """Seconds until an action that failed is due again; None: nothing is open."""
        due = [at for at, _ in self._pauses.values()]
        return max(0.0, min(due) - self._clock()) if due else None

    def pending(
        self, model: str, version: str | None, target: str | None, served: Collection[tuple[str, str]]
    ) -> Pending | None:
        """Why a model that is deployed cannot run yet; None where nothing of it that was asked for is open.

        `served` are the versions and targets of it that some node has loaded.
        """
        for deployment in self._deployed():
            if deployment.model != model or version not in (None, str(deployment.version)):
                continue
            for wanted in deployment.targets:
                if not is_meant(target, wanted) or (str(deployment.version), wanted) in served:
                    continue
                digests = [artifact.digest for artifact in compiled(wanted, deployment.artifacts)]
                if not digests:
                    return _uncompiled(deployment, wanted)
                failed = next((self._failures[digest] for digest in digests if digest in self._failures), None)
                return Pending(failed or f"version {deployment.version} is being loaded for {wanted}")
        return None

    def _desired(self) -> frozenset[Replica]:
        return share(self._deployed(), self._here(), self._nodes()) | self._local.keys()

    def _actions(self) -> list[Action]:
        on_disk = self._bundles.digests() | {replica.digest for replica in self._local}
        return reconcile(self._desired(), self._holdings.replicas, on_disk)

    async def _try(self, action: Action) -> None:
        try:
            await self._do(action)
        except RlxError as error:
            _, last = self._pauses.get(action, (0.0, 0.0))
            pause = min(_LONGEST_PAUSE, max(_FIRST_PAUSE, 2 * last))
            self._pauses[action] = (self._clock() + pause, pause)
            self._failures[_digest(action)] = error.message
            _log.warning("%s failed, again in %g s: %s", action, pause, error)
        else:
            self._failures.pop(_digest(action), None)

    async def _do(self, action: Action) -> None:
        match action:
            case Pull(digest):
                await self._bundles.pull(digest)
            case Load(replica):
                directory = self._local.get(replica) or self._bundles.directory(replica.digest)
                await self._holdings.load(replica, directory)
                _log.info("serves %s version %s on %s", replica.model, replica.version, replica.target)
            case Unload(replica):
                await self._holdings.unload(replica)
                _log.info("serves %s version %s on %s no more", replica.model, replica.version, replica.target)


def _uncompiled(deployment: Deployment, target: str) -> Pending:
    """A deployment compiles nothing, and a node does not see the jobs: whoever asks may have to ask for one first."""
    model, version = deployment.model, deployment.version
    return Pending(
        f"nothing has compiled version {version} for {target}",
        f"where `rlx jobs --model {model}` shows no job for it, `rlx compile --remote URL -m FILE -t {target}` or "
        f"`client.compile({model!r}, [{target!r}], version={version})` compiles it",
    )


def _digest(action: Action) -> str:
    return action.digest if isinstance(action, Pull) else action.replica.digest
