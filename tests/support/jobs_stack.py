"""compile-api, Redis and workers as processes of their own, to be killed and started again."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeVar

import httpx
import pytest

from tests.support.ports import free_port
from tests.support.redis_server import RedisServer

__all__ = ["JobsStack", "until"]

ROOT: Final = Path(__file__).parents[2]
FINAL: Final = {"succeeded", "failed", "cancelled"}
Found = TypeVar("Found")


def until(look: Callable[[], Found | None], seconds: float, what: str) -> Found:
    """What `look` gives once it gives something; fails after `seconds`."""
    end = time.monotonic() + seconds
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(0.02)


class JobsStack:
    """Call `start`, `client`, and `stop`; `control` is the folder that steers the stand-in compiler.

    With `real`, the programs are those that users start, and there is nothing to steer.
    """

    def __init__(self, folder: Path, database_url: str = "", *, real: bool = False, **settings: object) -> None:
        self.folder = folder
        self.control = folder / "control"
        self.control.mkdir(parents=True)
        self.redis = RedisServer(folder / "redis")
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.client = httpx.Client(base_url=self.url, timeout=30.0)
        self._api = ["rlx_compile_api.main" if real else "tests.support.fake_api"]
        self._worker = ["rlx_worker_cpu.compile_worker"] if real else ["tests.support.fake_compiler", str(self.control)]
        self._settings = {"DATABASE_URL": database_url, **settings}
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._faulty: set[str] = set()
        self.model = "net"

    def start(self) -> None:
        self.redis.start()
        self.start_api()
        self.start_worker()

    def heal(self) -> None:
        """Brings up what a test left down, without faults, and holds nothing back."""
        (self.control / "hold").unlink(missing_ok=True)
        for name in list(self._processes):
            if self._processes[name].poll() is not None or name in self._faulty:
                self.kill(name)
        self.redis.start()
        if "api" not in self._processes:
            self.start_api()
        if "worker" not in self._processes:
            self.start_worker()

    def stop(self) -> None:
        for name in list(self._processes):
            self.kill(name)
        self.redis.kill()
        self.client.close()

    # ── processes ────────────────────────────────────────────────────────────

    def start_api(self, fault: str = "") -> None:
        arguments = ["--bind-addr", f"127.0.0.1:{self.port}", "--data-folder", str(self.folder / "api")]
        self._spawn("api", [*self._api, *arguments], fault)
        # With a fault it may end before it answers.
        once = Path(fault.partition(":")[2]) if fault else None
        until(lambda: (once is not None and once.exists()) or self._answers(), 30, "compile-api answers")

    def start_worker(self, name: str = "worker", fault: str = "") -> None:
        arguments = ["--api-url", self.url, "--data-folder", str(self.folder / "work"), "--name", name, "--nice", "0"]
        self._spawn(name, [*self._worker, *arguments], fault)

    def kill(self, name: str) -> None:
        """SIGKILL for the process, its pool and its children at once."""
        process = self._processes.pop(name)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def terminate(self, name: str, seconds: float) -> None:
        """SIGTERM for the process alone, as a supervisor sends it; it has to end in time, with all that it started."""
        process = self._processes.pop(name)
        process.terminate()
        process.wait(timeout=seconds)
        with pytest.raises(ProcessLookupError):
            os.killpg(process.pid, 0)

    def exits(self, name: str, seconds: float = 20.0) -> None:
        """Waits for a process that a fault point ends, and for its group."""
        self._processes[name].wait(timeout=seconds)
        self.kill(name)

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def fault(self, point: str) -> tuple[str, Path]:
        """A setting that ends a process at `point` once, and the file that then appears."""
        once = self.folder / f"fault-{point}-{uuid.uuid4().hex}"
        return f"{point}:{once}", once

    def _spawn(self, name: str, arguments: list[str], fault: str) -> None:
        (self._faulty.add if fault else self._faulty.discard)(name)
        environment = {key: value for key, value in os.environ.items() if not key.startswith("RLX_")}
        environment |= {f"RLX_{key.upper()}": str(value) for key, value in self._settings.items()}
        environment |= {"RLX_REDIS_URL": self.redis.url, "RLX_FAULT": fault, "PYTHONPATH": str(ROOT)}
        with (self.folder / f"{name}.log").open("ab") as log:
            self._processes[name] = subprocess.Popen(
                [sys.executable, "-W", "ignore:You're running the worker", "-m", *arguments],
                env=environment,
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _answers(self) -> bool:
        assert self._processes["api"].poll() is None, self.log("api")
        try:
            return self.client.get("/v1/health/ready").status_code == 200
        except httpx.TransportError:
            return False

    # ── the compiler's stand-in ──────────────────────────────────────────────

    def hold(self) -> None:
        (self.control / "hold").touch()

    def let_go(self) -> None:
        (self.control / "hold").unlink()

    def objects_written(self) -> int:
        return len(list(self.control.glob("wrote-*")))

    # ── the API ──────────────────────────────────────────────────────────────

    def upload(self, content: bytes = b"program") -> dict[str, Any]:
        """Makes `content` the one version of a model of its own, which the next jobs are for."""
        self.model = f"net-{hashlib.sha256(content).hexdigest()[:8]}"
        answer = self.client.post(f"/v1/models/{self.model}/versions", files={"model": ("net.rlx", content)})
        assert answer.status_code in {200, 201}, answer.text
        return dict(answer.json())

    def compile(self, *targets: str, **options: object) -> dict[str, Any]:
        wanted = {"model": self.model, "targets": targets or ("llvm",), "options": options}
        answer = self.client.post("/v1/compile", json=wanted)
        assert answer.status_code == 202, answer.text
        return dict(answer.json())

    def job(self, job: str) -> dict[str, Any]:
        return dict(self.client.get(f"/v1/jobs/{job}").json())

    def ended(self, job: str, seconds: float = 60.0) -> dict[str, Any]:
        def look() -> dict[str, Any] | None:
            try:
                found = self.job(job)
            except httpx.TransportError:
                return None
            return found if found["state"] in FINAL else None

        return until(look, seconds, f"job {job} ends: {self.log('worker')[-3000:]}")
