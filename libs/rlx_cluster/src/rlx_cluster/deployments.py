"""What a node should hold, and how it gets there from what it holds: desired and present state in, actions
out.

A deployment says which model should be where. Every node works out its own share from the same deployments
and its view of the cluster, so nobody hands work out. `reconcile`, called again after every action that
ended, goes on until nothing is left to do. A model that is being replaced stays loaded until its successor
is: a rollout leaves no gap.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from rlx_wire.api import DeployedArtifact, Deployment
from rlx_wire.nodes import NodeRecord, NodeView
from rlx_wire.targets import required_features

__all__ = [
    "Action",
    "Load",
    "Pull",
    "Replica",
    "Unload",
    "compiled",
    "fitting",
    "reconcile",
    "runs_on",
    "share",
    "waiting",
]


@dataclass(frozen=True, slots=True, order=True)
class Replica:
    """One version of a model for one target, as one node holds it: a bundle, by its digest."""

    model: str
    version: str
    target: str
    digest: str


@dataclass(frozen=True, slots=True)
class Pull:
    """Fetch this bundle."""

    digest: str


@dataclass(frozen=True, slots=True)
class Load:
    """Load it from this node's disk, and warm it."""

    replica: Replica


@dataclass(frozen=True, slots=True)
class Unload:
    """Stop serving it."""

    replica: Replica


Action = Pull | Load | Unload


def runs_on(target: str, node: NodeRecord) -> bool:
    """Whether a device of the node runs this target: `llvm:x86-64-v4` is the target `llvm` for a named CPU."""
    family, _, cpu = target.partition(":")
    if cpu and not _has_cpu(family, cpu, node):
        return False
    return any(family in device.targets for device in node.devices)


def compiled(target: str, artifacts: Iterable[DeployedArtifact]) -> list[DeployedArtifact]:
    """The bundles of a target: `llvm` means those for any CPU, `llvm:x86-64-v4` those for that one."""
    family, _, cpu = target.partition(":")
    return [a for a in artifacts if a.target == family and cpu in ("", a.cpu)]


def fitting(target: str, artifacts: Iterable[DeployedArtifact], node: NodeRecord) -> DeployedArtifact | None:
    """Of the bundles of a target, the one for the strongest CPU that this node has; None: none yet."""
    usable = [a for a in compiled(target, artifacts) if _has_cpu(a.target, a.cpu, node)]
    return max(usable, key=lambda a: (len(required_features(a.target, a.cpu) or ()), a.digest), default=None)


def share(deployments: Iterable[Deployment], here: NodeRecord, nodes: Sequence[NodeView]) -> frozenset[Replica]:
    """What `here` should hold of all that is deployed, as far as it is compiled by now.

    Where a deployment wants fewer replicas than there are nodes, rendezvous hashing picks them: all nodes
    with the same view agree, and when one goes down, only what it held moves.
    """
    return frozenset(
        Replica(deployment.model, str(deployment.version), target, artifact.digest)
        for deployment, target in _placed(deployments, here, nodes)
        if (artifact := fitting(target, deployment.artifacts, here)) is not None
    )


def waiting(
    deployments: Iterable[Deployment], here: NodeRecord, nodes: Sequence[NodeView]
) -> frozenset[tuple[str, str, str]]:
    """Model, version and target of what `here` should hold once it is compiled."""
    return frozenset(
        (deployment.model, str(deployment.version), target)
        for deployment, target in _placed(deployments, here, nodes)
        if fitting(target, deployment.artifacts, here) is None
    )


def reconcile(desired: Collection[Replica], loaded: Collection[Replica], on_disk: Collection[str]) -> list[Action]:
    """What to do next, in order: fetch what is missing, load what is here, unload what nobody wants any
    more.
    """
    missing = sorted(set(desired) - set(loaded))
    pulls: list[Action] = [Pull(digest) for digest in sorted({r.digest for r in missing} - set(on_disk))]
    loads: list[Action] = [Load(replica) for replica in missing if replica.digest in on_disk]
    awaited = {(replica.model, replica.target) for replica in missing}
    unloads: list[Action] = [
        Unload(replica)
        for replica in sorted(set(loaded) - set(desired))
        if (replica.model, replica.target) not in awaited
    ]
    return pulls + loads + unloads


def _placed(
    deployments: Iterable[Deployment], here: NodeRecord, nodes: Sequence[NodeView]
) -> list[tuple[Deployment, str]]:
    """Each deployment and target of it that `here` is to hold."""
    present = {view.record.id: view.record for view in nodes if view.liveness != "down" and view.record.runs}
    if here.runs:
        present[here.id] = here
    placed = []
    for deployment in deployments:
        for target in deployment.targets:
            able = sorted(
                (_weight(deployment.name, node.id), node.id)
                for node in present.values()
                if _selected(deployment, node) and runs_on(target, node)
            )
            if here.id in {node for _, node in able[: deployment.replicas or None]}:
                placed.append((deployment, target))
    return placed


def _selected(deployment: Deployment, node: NodeRecord) -> bool:
    return deployment.node_selector.items() <= node.capabilities.labels.items()


def _weight(deployment: str, node: str) -> bytes:
    return hashlib.sha256(f"{deployment}\0{node}".encode()).digest()


def _has_cpu(target: str, cpu: str, node: NodeRecord) -> bool:
    features = required_features(target, cpu)
    return features is not None and features <= node.capabilities.features
