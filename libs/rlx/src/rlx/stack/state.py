"""How other processes find a running stack: a lock that says it lives, and a file that says where.

The lock is the truth: the kernel drops it when the supervisor ends, however it ends. The file may be a leftover.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from rlx.stack.settings import Ports
from rlx_base.errors import ClusterError

__all__ = ["ServiceState", "StackState", "is_running", "only_one", "read_state", "write_state"]


class ServiceState(BaseModel):
    """One service as the supervisor sees it."""

    model_config = ConfigDict(frozen=True)

    state: Literal["waiting", "starting", "ready", "stopped"] = "waiting"
    pid: int | None = None
    restarts: int = 0
    address: str = ""


class StackState(BaseModel):
    """One stack: its supervisor's process, its address and its services."""

    model_config = ConfigDict(frozen=True)

    pid: int
    url: str
    ports: Ports
    started_at: datetime
    ready: bool = False
    services: dict[str, ServiceState] = {}


def _state_path(data: Path) -> Path:
    return data / "stack.json"


def _lock_path(data: Path) -> Path:
    return data / "stack.lock"


def write_state(data: Path, state: StackState) -> None:
    """Replaces the file in one step, so that a reader never sees half of it."""
    data.mkdir(parents=True, exist_ok=True)
    partial = data / "stack.json.part"
    partial.write_text(state.model_dump_json(indent=2) + "\n", encoding="utf-8")
    partial.replace(_state_path(data))


def read_state(data: Path) -> StackState | None:
    """The stack that runs in this folder, or None."""
    if not is_running(data):
        return None
    try:
        return StackState.model_validate_json(_state_path(data).read_bytes())
    except FileNotFoundError:
        return None  # it has the lock and has not written yet


def is_running(data: Path) -> bool:
    """Whether a supervisor holds the folder."""
    try:
        descriptor = os.open(_lock_path(data), os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


@contextmanager
def only_one(data: Path) -> Iterator[None]:
    """Holds the folder for this process; raises E541 where another one does."""
    descriptor = os.open(_lock_path(data), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            other = read_state(data)
            where = f"process {other.pid}, {other.url}" if other else "it is just starting"
            raise ClusterError("E541", folder=data, where=where) from None
        # A leftover of a supervisor that was killed must not be taken for this one's.
        _state_path(data).unlink(missing_ok=True)
        yield
        _state_path(data).unlink(missing_ok=True)
    finally:
        os.close(descriptor)
