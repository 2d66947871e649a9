"""The programs of a stack, in the order in which they start, with what each is told."""

from __future__ import annotations

import json
import shutil
import sys
from functools import partial
from pathlib import Path

import rlx
from rlx.stack.checks import http_ready, redis_ready, worker_ready
from rlx.stack.redis_server import find_redis_server, redis_password, write_configuration
from rlx.stack.settings import HOST, StackSettings
from rlx.stack.supervisor import Service
from rlx_base.errors import ClusterError

__all__ = ["services"]


def program(name: str, package: str) -> str:
    """A service's command beside this Python, else on the PATH. Raises E542 where it is not installed."""
    beside_python = str(Path(sys.executable).parent)
    if found := shutil.which(name, path=beside_python) or shutil.which(name):
        return found
    raise ClusterError("E542", program=name, package=package)


def web_folder() -> Path | None:
    """The page, where RLX runs from its repository."""
    folder = Path(rlx.__file__).parents[4] / "web"
    return folder if folder.is_dir() else None


def services(settings: StackSettings) -> list[Service]:
    """What a stack consists of. Makes the folders and the Redis configuration that they need."""
    ports, data = settings.ports, settings.data
    folders = {name: data / name for name in ("redis", "compile-api", "worker", "scheduler", "node")}
    for folder in folders.values():
        folder.mkdir(mode=0o700, exist_ok=True)
    password = redis_password(folders["redis"])
    configure = partial(write_configuration, folders["redis"], ports.redis, password)
    redis_url = f"redis://:{password}@{HOST}:{ports.redis}"
    gss_url, scheduler_url = f"http://{HOST}:{ports.gss}", f"http://{HOST}:{ports.scheduler}"
    in_cluster = (
        *("--cluster.mode", "distributed", "--cluster.api", settings.url),
        *("--cluster.gss.endpoints", json.dumps([gss_url])),
    )
    page = web_folder()
    return [
        Service(
            "redis",
            (str(find_redis_server()), str(configure())),
            partial(redis_ready, ports.redis, password),
            stage=0,
            address=f"{HOST}:{ports.redis}",
            prepare=configure,
        ),
        Service(
            "gss",
            (program("rlx-gss", "rlx-gss"), "--bind-addr", f"{HOST}:{ports.gss}"),
            partial(http_ready, ports.gss),
            stage=1,
            address=gss_url,
            # Not on the command line, which every user of the machine can read.
            environment={"RLX_REDIS": f"{redis_url}/1"},
        ),
        Service(
            "compile-api",
            (
                program("rlx-compile-api", "rlx-compile-api"),
                *("--bind-addr", f"{HOST}:{ports.api}"),
                *("--data-folder", str(folders["compile-api"])),
                *("--scheduler-url", scheduler_url),
                *("--gss-url", gss_url),
                *(("--web-folder", str(page)) if page else ()),
            ),
            partial(http_ready, ports.api, "/v1/health/live"),
            stage=1,
            address=settings.url,
            environment={"RLX_REDIS_URL": f"{redis_url}/0"},
        ),
        Service(
            "scheduler",
            (
                program("rlx-scheduler", "rlx-scheduler"),
                *("--bind-addr", f"{HOST}:{ports.scheduler}", "--node", "scheduler"),
                *("--data-folder", str(folders["scheduler"])),
                *in_cluster,
            ),
            partial(http_ready, ports.scheduler),
            stage=2,
            address=scheduler_url,
        ),
        Service(
            "worker",
            (
                program("rlx-compile-worker", "rlx-worker-cpu"),
                *("--api-url", settings.url, "--name", "local"),
                *("--data-folder", str(folders["worker"])),
            ),
            partial(worker_ready, ports.redis, password),
            stage=2,
            address="compiles for this machine",
            environment={"RLX_REDIS_URL": f"{redis_url}/0"},
        ),
        Service(
            "node",
            (
                program("rlx-node", "rlx-worker-cpu"),
                *("--bind-addr", f"{HOST}:{ports.node}", "--node", "local"),
                *("--data-folder", str(folders["node"])),
                *in_cluster,
            ),
            partial(http_ready, ports.node),
            stage=2,
            address=f"http://{HOST}:{ports.node}",
        ),
    ]
