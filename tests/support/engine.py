"""A Docker engine for tests: the machine's own where one answers, else one that is started by hand and ended again."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["docker_engine"]


@contextmanager
def docker_engine(data: Path) -> Iterator[str]:
    """The URL of an engine. One of our own keeps its images in `data`, for the next time."""
    url = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
    if _answers(url):
        yield url
    else:
        with _own(data) as url:
            yield url


def _answers(url: str) -> bool:
    if not url.startswith("unix://"):
        return True  # somebody set it on purpose
    with socket.socket(socket.AF_UNIX) as attempt, suppress(OSError):
        attempt.connect(url.removeprefix("unix://"))
        return True
    return False


@contextmanager
def _own(data: Path) -> Iterator[str]:
    if shutil.which("dockerd") is None or os.geteuid() != 0:
        raise RuntimeError("no Docker engine answers, and none can be started: install docker.io, and be root")
    data.mkdir(parents=True, exist_ok=True)
    # The paths of its sockets have to be short.
    run = Path(tempfile.mkdtemp(prefix="rlx-"))
    url = f"unix://{run / 'docker.sock'}"
    command = ["dockerd", "--host", url, "--data-root", str(data / "data")]
    command += ["--exec-root", str(run / "exec"), "--pidfile", str(run / "pid")]
    with (data / "dockerd.log").open("wb") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        end = time.monotonic() + 60
        while not (run / "docker.sock").exists():
            assert process.poll() is None, (data / "dockerd.log").read_text()[-3000:]
            assert time.monotonic() < end, "dockerd has no socket after a minute"
            time.sleep(0.1)
        yield url
    finally:
        process.terminate()  # it ends its containers and its containerd
        process.wait(timeout=120)
        subprocess.run(["ip", "link", "delete", "docker0"], check=False, stderr=subprocess.DEVNULL)
        shutil.rmtree(run, ignore_errors=True)
