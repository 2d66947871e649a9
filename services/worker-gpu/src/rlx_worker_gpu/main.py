"""`rlx-gpu-node`: a node that runs bundles on what it finds of CUDA, OpenCL, Vulkan and WebGPU devices."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Final

from pydantic import Field

from rlx_node.main import run_node
from rlx_node.settings import NodeSettings
from rlx_wire.nodes import NodeId
from rlx_wire.service.settings import BindAddress

__all__ = ["KINDS", "GpuNodeSettings", "main"]


class GpuNodeSettings(NodeSettings):
    """A node of RLX for accelerators."""

    bind_addr: BindAddress = Field("127.0.0.1:8092", description="HOST:PORT to listen on")
    node: NodeId = Field(default_factory=lambda: f"{socket.gethostname()}-gpu", description="this node's id")
    data_folder: Path = Field(Path(".rlx/gpu-node"), description="bundles, and what is remembered over restarts")


KINDS: Final = ("cuda", "opencl", "vulkan", "webgpu")


def main() -> None:
    run_node("rlx-gpu-node", kinds=KINDS, settings=GpuNodeSettings)


if __name__ == "__main__":
    main()
