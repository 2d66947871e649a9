"""The settings of one GSS replica."""

from __future__ import annotations

from pydantic import Field

from rlx_wire.service.settings import BindAddress, ServiceSettings

__all__ = ["GssSettings"]


class GssSettings(ServiceSettings):
    """The Global State Service of RLX: which nodes are there, with what, and how loaded."""

    bind_addr: BindAddress = Field("127.0.0.1:9000", description="HOST:PORT to listen on")
    redis: str = Field("redis://127.0.0.1:6379/0", description="URL of this replica's own Redis")
    heartbeat_ms: int = Field(500, gt=0, description="how often a node reports")
    max_body_bytes: int = Field(1 << 20, gt=0, description="limit of a registration or a status")
