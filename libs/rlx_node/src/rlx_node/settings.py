"""The settings of a node, as a YAML file, `RLX_` variables and options give them.

```yaml
cluster:
  mode: distributed
  api: http://api:8000
  gss: {endpoints: ["http://gss-01:9000"]}
  nodes:
    - {id: cpu-node-01, host: cpu-node-01.internal, port: 8090, devices: [{type: cpu, memory: 256GB}]}
network: {latency_budget_ms: 500, bandwidth: 25Gbps, links: [{between: [a, b], bandwidth: 10Gbps, latency:
0.2ms}]} runtime: {context_pool_size: 8, threads: auto}
```
"""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from rlx_base.units import parse_bandwidth, parse_bytes, parse_duration
from rlx_cluster.placement import Link
from rlx_wire.nodes import NodeId
from rlx_wire.service.settings import BindAddress, Section, ServiceSettings, is_loopback, split_address

__all__ = [
    "ClusterSettings",
    "DeviceSettings",
    "GssSettings",
    "LinkSettings",
    "NetworkSettings",
    "NodeEntry",
    "NodeSettings",
    "RuntimeSettings",
]


def _unless_number(parse: Any) -> BeforeValidator:
    return BeforeValidator(lambda value: parse(value) if isinstance(value, str) else value)


Size = Annotated[int, _unless_number(parse_bytes), Field(ge=0)]
Bandwidth = Annotated[float, _unless_number(parse_bandwidth), Field(gt=0)]
Latency = Annotated[float, _unless_number(parse_duration), Field(ge=0)]


class DeviceSettings(Section):
    """What the file says of a device; it overrides what was detected."""

    type: str
    index: int = Field(0, ge=0)
    memory: Size | None = None
    cores: int | None = Field(None, ge=1)


class NodeEntry(Section):
    """One node of the cluster. `grpc_port` is `port` + 1 where it is not written."""

    id: NodeId
    host: str
    port: int = Field(8090, ge=1, le=65535)
    grpc_port: int | None = Field(None, ge=1, le=65535)
    devices: list[DeviceSettings] = Field([])


class GssSettings(Section):
    """The replicas of the Global State Service; any one of them is enough."""

    endpoints: list[str] = Field([])


class ClusterSettings(Section):
    """Whether this node stands alone, and whom it belongs to if not."""

    mode: Literal["standalone", "distributed"] = "standalone"
    api: str | None = Field(None, description="URL of compile-api: deployments and artifacts")
    gss: GssSettings = GssSettings()
    nodes: list[NodeEntry] = Field([])


class LinkSettings(Section):
    """The way between two nodes, as the operator knows it."""

    between: tuple[str, str]
    bandwidth: Bandwidth
    latency: Latency = 0.0002


class NetworkSettings(Section):
    """`latency_budget_ms` is the deadline of a request that brings none."""

    latency_budget_ms: int = Field(30_000, ge=1)
    bandwidth: Bandwidth = 125e6
    links: list[LinkSettings] = Field([])


class RuntimeSettings(Section):
    """How a device is used: `context_pool_size` runs are with it at once, `queue` more may wait."""

    context_pool_size: int = Field(2, ge=1, le=1024)
    queue: int = Field(64, ge=0)
    threads: Literal["auto"] | Annotated[int, Field(ge=1)] = "auto"
    max_request_bytes: Size = 256 << 20


class NodeSettings(ServiceSettings):
    """A node of RLX: runs models on its devices and passes on what others run better."""

    bind_addr: BindAddress = Field("127.0.0.1:8090", description="HOST:PORT to listen on")
    node: NodeId = Field(default_factory=socket.gethostname, description="this node's id")
    advertise: str | None = Field(None, description="URL at which other nodes reach this one")
    data_folder: Path = Field(Path(".rlx/node"), description="bundles, and what is remembered over restarts")
    labels: dict[str, str] = Field({}, description="what node selectors of deployments ask for")
    drain_seconds: float = Field(10.0, ge=0, description="time that running requests have when the node stops")
    cluster: ClusterSettings = ClusterSettings()
    network: NetworkSettings = NetworkSettings()
    runtime: RuntimeSettings = RuntimeSettings()

    @property
    def url(self) -> str:
        """Where others reach this node: as advertised, as the cluster's file says, else where it listens."""
        if self.advertise is not None:
            return self.advertise.rstrip("/")
        host, port = split_address(self.bind_addr)
        entry = self.entry
        if entry is not None and not is_loopback(host):
            return f"http://{entry.host}:{port}"
        if host in ("0.0.0.0", "::"):
            host = socket.gethostname()
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    @property
    def entry(self) -> NodeEntry | None:
        """What the cluster's file says of this node."""
        return next((entry for entry in self.cluster.nodes if entry.id == self.node), None)

    @property
    def links(self) -> dict[str, Link]:
        """The way from here to every other node that is declared."""
        links = {entry.id: Link(200, int(self.network.bandwidth)) for entry in self.cluster.nodes}
        for link in self.network.links:
            if self.node in link.between:
                other = link.between[0] if link.between[1] == self.node else link.between[1]
                links[other] = Link(round(link.latency * 1e6), int(link.bandwidth))
        return links
