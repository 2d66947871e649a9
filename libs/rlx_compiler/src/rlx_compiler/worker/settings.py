"""The settings of a compile worker."""

from __future__ import annotations

import socket
from pathlib import Path

from pydantic import Field

from rlx_compiler.options import Limits
from rlx_wire.service.settings import ProcessSettings

__all__ = ["WorkerSettings"]


def _usable_targets() -> tuple[str, ...]:
    # Whoever is told its targets has no need of the emitters: its children have.
    from rlx_compiler.targets import usable_targets

    return usable_targets()


class WorkerSettings(ProcessSettings):
    """The compile worker of RLX: takes compile tasks from Redis and reports to compile-api."""

    api_url: str = Field("http://127.0.0.1:8000", description="where compile-api is")
    redis_url: str = Field("redis://127.0.0.1:6379/0", description="the broker")
    targets: tuple[str, ...] = Field(default_factory=_usable_targets, description="targets whose tools are here")
    data_folder: Path = Field(Path(".rlx/worker"), description="where attempts are worked on")
    name: str = Field(default_factory=socket.gethostname, pattern=r"^[!-~]{1,200}$", description="of this worker")
    concurrency: int = Field(1, ge=1, le=64, description="attempts at a time")
    nice: int = Field(10, ge=0, le=19, description="how much this process stands back for others")
    compile_seconds: float = Field(300.0, gt=0, description="time limit of one compilation")
    compile_bytes: int = Field(8 << 30, gt=0, description="address space of one compilation")

    @property
    def limits(self) -> Limits:
        return Limits(seconds=self.compile_seconds, memory_bytes=self.compile_bytes)

    @property
    def hard_seconds(self) -> int:
        """When Celery ends an attempt that did not end by itself: after the child's limit, and time to carry files."""
        return int(self.compile_seconds) + 600
