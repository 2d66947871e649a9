"""A private Redis that a test may kill, restart and empty."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import Final, Self

import redis

from rlx.stack.redis_server import find_redis_server, redis_password, write_configuration
from tests.support.ports import free_port

__all__ = ["RedisServer"]

_SECONDS: Final = 10.0


class RedisServer:
    """The server and the configuration that `rlx up` uses, on a port of its own."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.port = free_port()
        password = redis_password(folder)
        self.url = f"redis://:{password}@127.0.0.1:{self.port}/0"
        self._command = [str(find_redis_server()), str(write_configuration(folder, self.port, password))]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> Self:
        """Returns once it answers with its data read; one that runs stays as it is."""
        if self._process is not None and self._process.poll() is None:
            return self
        with (self.folder / "redis.log").open("ab") as log:
            self._process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        end = time.monotonic() + _SECONDS
        while True:
            try:
                with self.client() as client:
                    client.ping()
                    return self
            except redis.RedisError:
                assert self._process.poll() is None, (self.folder / "redis.log").read_text()
                assert time.monotonic() < end, "Redis does not come up"
                time.sleep(0.02)

    def client(self) -> redis.Redis:
        return redis.Redis.from_url(self.url, socket_timeout=2)

    def empty(self) -> None:
        with self.client() as client:
            client.flushall()

    def kill(self) -> None:
        """Ends it as a power cut would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def forget(self) -> None:
        """Removes all that it has on disk; it must not be running."""
        assert self._process is None
        for path in [*self.folder.rglob("*.aof*"), *self.folder.glob("*.rdb")]:
            path.unlink()
