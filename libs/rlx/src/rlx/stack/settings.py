"""Where a stack keeps its data and which ports it takes."""

from __future__ import annotations

import os
import socket
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

__all__ = ["HOST", "Ports", "StackSettings", "default_data"]

HOST = "127.0.0.1"
"""A stack on one machine answers on loopback only, so it needs no key."""


def default_data() -> Path:
    """`RLX_DATA`, else the user's data folder."""
    if chosen := os.environ.get("RLX_DATA"):
        return Path(chosen)
    home = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(home).expanduser() / "rlx"


class Ports(BaseModel):
    """One port for each service that listens."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    api: int = Field(default=8000, ge=1, le=65535)
    scheduler: int = Field(default=8080, ge=1, le=65535)
    node: int = Field(default=8090, ge=1, le=65535)
    gss: int = Field(default=9000, ge=1, le=65535)
    redis: int = Field(default=6390, ge=1, le=65535)

    @model_validator(mode="after")
    def _are_distinct(self) -> Self:
        port, count = Counter(self.model_dump().values()).most_common(1)[0]
        if count > 1:
            raise ValueError(f"port {port} is given to two services")
        return self

    @classmethod
    def from_base(cls, base: int) -> Ports:
        """Consecutive ports from `base` on, in the order of the fields."""
        return cls(**{name: base + offset for offset, name in enumerate(cls.model_fields)})

    @classmethod
    def free(cls) -> Ports:
        """Ports that nobody uses at this moment."""
        with ExitStack() as stack:
            listeners = [stack.enter_context(socket.create_server((HOST, 0))) for _ in cls.model_fields]
            return cls(**{name: held.getsockname()[1] for name, held in zip(cls.model_fields, listeners, strict=True)})


class StackSettings(BaseModel):
    """All that `rlx up` can be told."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    data: Path = Field(default_factory=default_data)
    ports: Ports = Ports()

    def model_post_init(self, context: object, /) -> None:
        object.__setattr__(self, "data", self.data.expanduser().absolute())

    @property
    def logs(self) -> Path:
        return self.data / "logs"

    @property
    def url(self) -> str:
        """The one address that a client needs: compile-api, which passes inference on to the scheduler."""
        return f"http://{HOST}:{self.ports.api}"
