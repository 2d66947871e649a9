"""What a node says of itself, and what the Global State Service answers: registration, status, record, view.

A **record** is all that is known of one node. It is written by that node alone and carries `(incarnation,
sequence)`: the incarnation is one life of the node (given by the GSS when it registers), the sequence counts
its reports within that life. Records are merged by that pair and never by a clock.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from rlx_wire.scalars import NUMBER, Count, Flag

__all__ = [
    "Addresses",
    "Capabilities",
    "Device",
    "Liveness",
    "LoadedModel",
    "NodeId",
    "NodeRecord",
    "NodeRegistered",
    "NodeRegistration",
    "NodeStatus",
    "NodeView",
    "NodesView",
]

NodeId = Annotated[str, Field(pattern=r"^[A-Za-z0-9]([A-Za-z0-9._-]{0,62}[A-Za-z0-9])?$")]
Liveness = Literal["alive", "suspect", "down"]


class _Wire(BaseModel):
    """Frozen, so that records can be compared and shared; unknown members of a newer peer are dropped, not
    refused.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")


class Device(_Wire):
    """One device of a node. `targets` names what it runs; an empty tuple means it is reported and runs
    nothing.
    """

    kind: str
    index: Count
    name: str
    memory_bytes: Count = 0
    cores: Count = 0
    targets: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The name a schedule hint uses: `cpu:0`, `cuda:1`."""
        return f"{self.kind}:{self.index}"


class Capabilities(_Wire):
    """What decides whether an artifact runs here: the CPU as a named level, its exact features, and the labels
    that a deployment's node selector asks for.
    """

    cpu: str
    cpu_features: tuple[str, ...] = ()
    labels: dict[str, str] = {}

    @property
    def features(self) -> frozenset[str]:
        return frozenset(self.cpu_features)


class Addresses(_Wire):
    """Where the node answers; `grpc` is None while it serves HTTP alone."""

    http: str
    grpc: str | None = None


class LoadedModel(_Wire):
    """A model that is compiled, verified, loaded and warmed on a device: it can run now."""

    model: str
    version: str
    target: str
    digest: str
    device: str
    run_us: Count = 0
    """Measured time of one run on this device; 0 while none was measured."""


class NodeRegistration(_Wire):
    """`POST /v1/nodes`. `last_incarnation` is the life the node last had, which it remembers where the GSS
    may not. It is at most 2⁵²: what is counted on from it then fits for ever.
    """

    id: NodeId
    last_incarnation: Annotated[int, Field(ge=0, le=2**52), NUMBER] = 0
    addresses: Addresses
    capabilities: Capabilities
    devices: tuple[Device, ...] = ()
    version: str = ""


class NodeRegistered(_Wire):
    """The answer: the node's new life, and how often it should report."""

    id: NodeId
    incarnation: Annotated[int, Field(ge=1, le=2**53), NUMBER]
    heartbeat_ms: Annotated[int, Field(gt=0), NUMBER]


class NodeStatus(_Wire):
    """`PUT /v1/nodes/{id}/status`: the level of a node now. `sequence` grows by one with every report, and once more
    where the node leaves.
    """

    incarnation: Annotated[int, Field(ge=1, le=2**53), NUMBER]
    sequence: Annotated[int, Field(ge=1, le=2**52), NUMBER]
    queue_depth: Count = 0
    running: Count = 0
    memory_used_bytes: Count = 0
    memory_bytes: Count = 0
    utilisation: Annotated[float, Field(ge=0, le=1), NUMBER] = 0.0
    loaded: tuple[LoadedModel, ...] = ()
    draining: Flag = False


class NodeRecord(_Wire):
    """All that is known of one node. `status` is None until its first report; `left` marks a node that said
    goodbye.
    """

    id: NodeId
    incarnation: Annotated[int, Field(ge=1, le=2**53), NUMBER]
    sequence: Count = 0
    addresses: Addresses
    capabilities: Capabilities
    devices: tuple[Device, ...] = ()
    version: str = ""
    status: NodeStatus | None = None
    left: bool = False

    @property
    def clock(self) -> tuple[int, int]:
        """What records are merged by."""
        return (self.incarnation, self.sequence)

    @property
    def runs(self) -> bool:
        """Whether it takes requests: it has not left, does not drain, and has a device that runs something."""
        draining = self.status is not None and self.status.draining
        return not self.left and not draining and any(device.targets for device in self.devices)


class NodeView(_Wire):
    """A record as one observer sees it: how long ago, by its own monotonic clock, the node's sequence last
    advanced.
    """

    record: NodeRecord
    liveness: Liveness
    age_ms: Count


class NodesView(_Wire):
    """`GET /v1/nodes`. `version` grows with every change of membership or load; long polls name the one they
    have.

    `epoch` names the life of the service that counts: versions of two epochs cannot be compared.
    """

    version: Count
    epoch: str
    nodes: tuple[NodeView, ...] = ()
    next: NodeId | None = None
    """Where a `limit` was given and more nodes follow: the cursor of the following page."""

    def page(self, cursor: str | None, limit: int | None) -> NodesView:
        """At most `limit` nodes (all, where None), by their ids, after the node `cursor`."""
        nodes = sorted((n for n in self.nodes if cursor is None or n.record.id > cursor), key=lambda n: n.record.id)
        more = limit is not None and len(nodes) > limit
        shown = tuple(nodes[:limit])
        return self.model_copy(update={"nodes": shown, "next": shown[-1].record.id if more else None})
