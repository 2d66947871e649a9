"""`rlx.serve` and `rlx run`: a node in this process that serves models from the start.

The models are compiled first, here, where a compiler is; the node itself has none and only loads bundles.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from pydantic import Field

from rlx.compiling import compile
from rlx_cluster.deployments import Replica
from rlx_node.app import create_actor, create_app
from rlx_node.holdings import DeviceExecutor
from rlx_node.settings import NodeSettings
from rlx_runtime import Profile, Result
from rlx_wire.manifest import Manifest
from rlx_wire.service.process import run_service
from rlx_wire.service.settings import BindAddress

__all__ = ["RunSettings", "serve"]

_log = logging.getLogger("rlx.run")
_LOOK_AGAIN_S = 0.02
# The latest runs of a model that a profile keeps: enough to see a pattern, little enough to open in a browser.
_KEPT_RUNS = 100


class RunSettings(NodeSettings):
    """A node that is started by hand: it stands alone, on port 8080, unless its file says otherwise."""

    bind_addr: BindAddress = Field("127.0.0.1:8080", description="HOST:PORT to listen on")


def serve(
    *models: Any,
    config: Path | str | None = None,
    node: str | None = None,
    bind_addr: str | None = None,
    target: str = "llvm",
    profiling: Path | str | None = None,
    announce: Callable[[str], None] = print,
) -> None:
    """Compile the models, serve them over HTTP until SIGTERM or Ctrl-C, then drain.

    A model is a module, a function under `@rlx.module`, or a path; it is served under its module's name. `config` is
    the node's YAML file, `node` its id in it. `bind_addr` is the HOST:PORT to listen on, whatever the file says.
    `profiling` names a file for the timings of the latest runs, written when the node ends. Raises what compiling
    raises; exits with 2 for settings that do not fit, with 3 where it cannot listen.
    """
    local: dict[Replica, Path] = {}
    for model in models:
        result = compile(model, target=target)
        local[Replica(result.manifest.model, "1", target, result.digest)] = result.directory
    arguments = [] if config is None else ["--config", str(config)]
    arguments += [] if node is None else ["--node", node]
    arguments += [] if bind_addr is None else ["--bind-addr", bind_addr]
    recorder = None if profiling is None else Recorder(Path(profiling))

    def application(settings: RunSettings) -> FastAPI:
        observed = recorder.observe if recorder is not None else lambda executor: executor
        return _application(settings, local, observed, announce)

    async def drain(app: FastAPI) -> None:
        await app.state.actor.drain()

    try:
        run_service("rlx run", RunSettings, application, arguments, drain=drain)
    finally:
        if recorder is not None:
            recorder.write()


def _application(
    settings: RunSettings,
    local: Mapping[Replica, Path],
    observed: Callable[[DeviceExecutor], DeviceExecutor],
    announce: Callable[[str], None],
) -> FastAPI:
    actor = create_actor(settings, None, local, observed)
    app = create_app(actor, title="RLX Runtime")
    serving = app.router.lifespan_context

    async def started() -> None:
        while not local.keys() <= actor.holdings.replicas:
            await asyncio.sleep(_LOOK_AGAIN_S)
        announce(f"RLX Runtime started on {settings.url}")

    @asynccontextmanager
    async def announced(app: FastAPI) -> AsyncIterator[Any]:
        async with serving(app) as state:
            waiting = asyncio.create_task(started())
            try:
                yield state
            finally:
                waiting.cancel()
                with suppress(asyncio.CancelledError):
                    await waiting

    app.router.lifespan_context = announced
    return app


class Recorder:
    """Traces every run of the executors that it observes, and keeps the latest of each model."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._profiles: dict[str, Profile] = {}

    def observe(self, executor: DeviceExecutor) -> DeviceExecutor:
        return _Observed(executor, self)

    def keep(self, profile: Profile) -> None:
        before = self._profiles.get(profile.digest)
        runs = (*(before.runs if before is not None else ()), *profile.runs)
        self._profiles[profile.digest] = Profile(
            profile.model, profile.digest, profile.target, profile.threads, profile.kernels, runs[-_KEPT_RUNS:]
        )

    def write(self) -> None:
        """One file for each model: `profile.json`, and `profile-2.json` … for more."""
        for number, profile in enumerate(self._profiles.values(), start=1):
            path = self._path if number == 1 else self._path.with_stem(f"{self._path.stem}-{number}")
            path.write_text(profile.to_json(), encoding="utf-8")
            _log.info("the profile of %s is in %s", profile.model, path)


class _Observed:
    """An executor whose runs are traced."""

    def __init__(self, executor: DeviceExecutor, recorder: Recorder) -> None:
        self._executor, self._recorder = executor, recorder
        self.device = executor.device

    @property
    def ready(self) -> bool:
        return self._executor.ready

    @property
    def running(self) -> int:
        return self._executor.running

    @property
    def queue_depth(self) -> int:
        return self._executor.queue_depth

    @property
    def loaded(self) -> Mapping[str, Manifest]:
        return self._executor.loaded

    async def start(self) -> None:
        await self._executor.start()

    async def close(self) -> None:
        await self._executor.close()

    async def load(self, digest: str, directory: Path) -> int:
        return await self._executor.load(digest, directory)

    async def unload(self, digest: str) -> None:
        await self._executor.unload(digest)

    async def run(
        self, digest: str, inputs: Mapping[str, Any], *, deadline: float | None = None, trace: bool = False
    ) -> Result:
        result = await self._executor.run(digest, inputs, deadline=deadline, trace=True)
        if result.profile is not None:
            self._recorder.keep(result.profile)
        return result
