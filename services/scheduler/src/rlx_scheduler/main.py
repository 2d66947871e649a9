"""`rlx-scheduler`: the front door for inference, a node actor that has no device."""

from __future__ import annotations

import socket
from pathlib import Path

from pydantic import Field

from rlx_node.main import run_node
from rlx_node.settings import ClusterSettings, NodeSettings
from rlx_wire.nodes import NodeId
from rlx_wire.service.settings import BindAddress

__all__ = ["SchedulerSettings", "main"]


class SchedulerSettings(NodeSettings):
    """The scheduler of RLX: takes inferences and passes each to the node that answers it best."""

    bind_addr: BindAddress = Field("127.0.0.1:8080", description="HOST:PORT to listen on")
    node: NodeId = Field(default_factory=lambda: f"{socket.gethostname()}-scheduler", description="this actor's id")
    data_folder: Path = Field(Path(".rlx/scheduler"), description="what is remembered over restarts")
    cluster: ClusterSettings = ClusterSettings(mode="distributed")


def main() -> None:
    run_node("rlx-scheduler", kinds=(), settings=SchedulerSettings)


if __name__ == "__main__":
    main()
