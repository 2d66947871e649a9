"""docker-compose.yml as it is, in real containers, to be killed, paused, cut off and scaled."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rlx_client import RLXClient
from rlx_wire.api import Job
from tests.support.jobs_stack import until
from tests.support.ports import free_port

if TYPE_CHECKING:
    from docker.models.containers import Container
    from docker.models.networks import Network

__all__ = ["BASE_IMAGES", "ComposeStack"]

ROOT: Final = Path(__file__).parents[2]
COMPOSE: Final = ROOT / "build/compose/compose/docker-compose"
PROJECT: Final = "rlx-test"
SECRETS: Final = ("RLX_API_KEY", "REDIS_PASSWORD", "POSTGRES_PASSWORD")
BASE_IMAGES: Final = {
    "python": "python:3.11-slim-bookworm",
    "redis": "redis:7-bookworm",
    "postgres": "postgres:15-bookworm",
}
"""What is pulled, by the name of its stand-in."""


class ComposeStack:
    """`prepare` the images, `up`, use `client`, and `down`. Its secrets are made anew each time."""

    def __init__(self, engine: str) -> None:
        from docker import DockerClient

        self.engine = DockerClient(base_url=engine)
        self.url = f"http://127.0.0.1:{(port := free_port())}"
        self._environment = {key: value for key, value in os.environ.items() if not key.startswith("RLX_")}
        self._environment |= {name: secrets.token_hex(16) for name in SECRETS}
        self._environment |= {"DOCKER_HOST": engine, "RLX_PORT": str(port)}
        self._environment |= {"DOCKER_BUILDKIT": "1", "COMPOSE_PROJECT_NAME": PROJECT, **_package_index()}
        self.client = RLXClient(endpoints=[self.url], api_key=self.key)

    @property
    def key(self) -> str:
        return self._environment["RLX_API_KEY"]

    # ── the whole ────────────────────────────────────────────────────────────

    def prepare(self) -> None:
        """Pulls the images that are not ours, or makes their stand-ins, and builds ours."""
        from docker.errors import APIError, ImageNotFound

        for name, image in BASE_IMAGES.items():
            try:
                self.engine.images.get(image)
            except ImageNotFound:
                try:
                    self.engine.images.pull(image)
                except APIError:
                    subprocess.run(
                        [ROOT / "infra/docker/stand-in/make.sh", name], check=True, env=self._environment, cwd=ROOT
                    )
        self.compose("--progress", "plain", "build")  # in full, so that a failure says why

    def up(self, **scale: int) -> None:
        """Starts what does not run, and returns when all of it is healthy."""
        scaled = [word for service, count in scale.items() for word in ("--scale", f"{service}={count}")]
        self.compose("up", "--no-build", "--wait", "--wait-timeout", "240", *scaled)

    def down(self) -> None:
        """Nothing stays but the images."""
        self.client.close()
        self.compose("down", "--volumes", "--remove-orphans", "--timeout", "5")
        self.engine.close()

    def compose(self, *arguments: str, without: str = "") -> str:
        """What `docker compose …` writes; AssertionError with its complaints where it fails, as `without` a secret."""
        environment = {key: value for key, value in self._environment.items() if key != without}
        command = [COMPOSE, "--file", ROOT / "docker-compose.yml", "--ansi", "never", *arguments]
        done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"docker compose {' '.join(arguments)}\n{done.stderr[-5000:]}\n{self.logs()}"
        return done.stdout

    def logs(self) -> str:
        """The last words of every container."""
        words = []
        for container in self._containers():
            if container.status != "running" or container.attrs["State"].get("Health", {}).get("Status") != "healthy":
                words.append(f"── {container.name} {json.dumps(container.attrs['State'])}")
                words.append(container.logs(tail=30).decode(errors="replace"))
        return "\n".join(words)

    # ── its parts ────────────────────────────────────────────────────────────

    def containers(self, service: str) -> list[Container]:
        """Those that exist of a service, running or not."""
        found = self._containers(f"com.docker.compose.service={service}")
        assert found, f"there is no {service}"
        return found

    def container(self, service: str) -> Container:
        (only,) = self.containers(service)
        return only

    def network(self, name: str) -> Network:
        return self.engine.networks.get(f"{PROJECT}_{name}")

    def _containers(self, *labels: str) -> list[Container]:
        chosen = [f"com.docker.compose.project={PROJECT}", *labels]
        return self.engine.containers.list(all=True, filters={"label": chosen})

    # ── jobs ─────────────────────────────────────────────────────────────────

    def worker_of(self, job: Job, seconds: float = 60.0) -> Container:
        """The container that works on the one task of a job, as soon as there is one."""

        def look() -> str | None:
            (task,) = self.client.job(job.id).tasks
            assert task.state in {"queued", "running"}, f"too late to watch it: {task}"
            return task.attempts[-1].worker if task.attempts and task.attempts[-1].state == "running" else None

        return self.engine.containers.get(until(look, seconds, f"job {job.id} runs"))

    def ended(self, job: Job, seconds: float = 240.0) -> Job:
        return self.client.wait(job, timeout=seconds)


def _package_index() -> dict[str, Any]:
    """The index that this machine's pip is set to, for the builds: they do not see its files."""
    found = {}
    for option in ("index-url", "extra-index-url"):
        variable = f"PIP_{option.upper().replace('-', '_')}"
        command = [sys.executable, "-m", "pip", "config", "get", f"global.{option}"]
        told = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        urls = [url for url in os.environ.get(variable, told).split() if not url.startswith("file:")]
        if urls:
            found[variable] = " ".join(urls)
    return found
