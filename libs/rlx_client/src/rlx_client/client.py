"""The client that waits for its answers."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self, TypeVar

import httpx

from rlx_base.errors import RlxError
from rlx_client import calls
from rlx_client.calls import Call, Inference, Signature
from rlx_client.configuration import FINAL, Configuration
from rlx_client.events import EventLines
from rlx_client.failures import BUSY, another_may_answer, of_answer, of_network
from rlx_client.timeouts import Timeouts
from rlx_wire.access import ApiKey, NewApiKey, Scope
from rlx_wire.api import (
    Artifact,
    Deployment,
    DeploymentRequest,
    Job,
    JobEvent,
    JobOptions,
    Model,
    ModelVersion,
    Page,
)
from rlx_wire.bundle import unpack_bundle
from rlx_wire.inference import ScheduleHint
from rlx_wire.manifest import Manifest
from rlx_wire.nodes import NodesView

__all__ = ["RLXClient"]

T = TypeVar("T")
_LOOK_AGAIN_S = 0.5


class RLXClient:
    """Talks to an RLX, at one address or several that stand for each other.

    ```python
    with RLXClient(endpoints=["http://127.0.0.1:8000"]) as rlx:
        rlx.upload("net", Path("net.rlx"), Path("net.safetensors"))
        job = rlx.wait(rlx.compile("net", ["llvm", "c"]))
        rlx.deploy("net", targets=["llvm", "c"])
        y = rlx.infer("net", {"x": image}, wait=30).outputs["y"]
    ```

    Whatever the service refuses is raised as the `RlxError` with its code; E417 says which part of a request was late,
    E513 that nobody answers.
    """

    def __init__(
        self,
        endpoints: Sequence[str] = (),
        *,
        timeout: float | Timeouts | None = None,
        api_key: str | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._configuration = Configuration.of(endpoints, timeout, api_key)
        self._http = httpx.Client(headers=self._configuration.headers, transport=transport)

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ── models and jobs ──────────────────────────────────────────────────────

    def upload(self, name: str, model: Path, *weights: Path) -> ModelVersion:
        """A new version from `.rlx` and its weights, or from an `.rlxz`; the same program again is the same version."""
        return self._call(calls.upload(name, Path(model), tuple(Path(path) for path in weights)))

    def models(self, cursor: str | None = None, limit: int = 50) -> Page[Model]:
        return self._call(calls.models(cursor, limit))

    def versions(self, name: str, cursor: str | None = None, limit: int = 50) -> Page[ModelVersion]:
        return self._call(calls.versions(name, cursor, limit))

    def compile(
        self, model: str, targets: Sequence[str] = ("llvm",), *, version: int | None = None, **options: Any
    ) -> Job:
        """Asks for a compilation, one task a target. `options` are those of `JobOptions`: `opt_level`, `strict` …"""
        return self._call(calls.compile_model(model, tuple(targets), version, JobOptions(**options)))

    def job(self, id: str) -> Job:
        return self._call(calls.job(id))

    def jobs(
        self, cursor: str | None = None, limit: int = 50, *, state: str | None = None, model: str | None = None
    ) -> Page[Job]:
        return self._call(calls.jobs(cursor, limit, state, model))

    def cancel(self, job: Job | str) -> Job:
        """Ends a job; one that has ended stays as it is."""
        return self._call(calls.cancel(_id(job)))

    def events(self, job: Job | str, after: int = 0) -> Iterator[JobEvent]:
        """A job's history from event `after` on, as it happens. Ends with the job, or when the stream breaks."""
        for event in self._follow(_id(job), after, self._configuration.timeouts.transferring()):
            if event is not None:
                yield event

    def _follow(self, job: str, after: int, timeout: httpx.Timeout) -> Iterator[JobEvent | None]:
        """Its events, and None for every other line, so that whoever waits can look at the clock."""
        url = self._configuration.endpoints.order()[0]
        headers = {"Accept": "text/event-stream", "Last-Event-ID": str(after)}
        path = f"/v1/jobs/{job}/events"
        collected = EventLines()
        try:
            with self._http.stream("GET", url + path, headers=headers, timeout=timeout) as answer:
                if not answer.is_success:
                    answer.read()
                    raise of_answer(answer, url)
                for line in answer.iter_lines():
                    yield collected.feed(line)
        except httpx.HTTPError as error:
            self._configuration.endpoints.failed(url)
            raise of_network(error, url, self._configuration.timeouts) from error

    def wait(
        self,
        job: Job | str,
        timeout: float | None = None,
        on_event: Callable[[JobEvent], None] | None = None,
    ) -> Job:
        """The job once it has ended, well or not. `on_event` hears its progress. Raises TimeoutError.

        Follows the job's events; while that does not work, asks for its state now and then.
        """
        end = math.inf if timeout is None else time.monotonic() + timeout
        transfer = self._configuration.timeouts.transfer
        told = 0
        while True:
            try:
                read = min(transfer, max(0.01, end - time.monotonic()))
                patience = httpx.Timeout(transfer, connect=self._configuration.timeouts.connect, read=read)
                for event in self._follow(_id(job), told, patience):
                    if event is not None:
                        told = event.id
                        if on_event is not None:
                            on_event(event)
                    if time.monotonic() > end:
                        break
            except RlxError as error:
                if error.status < 500 and error.status not in BUSY:
                    raise
            known = self.job(_id(job))
            if known.state in FINAL:
                return known
            if time.monotonic() > end:
                raise TimeoutError(f"job {known.id} is {known.state} after {timeout:g} s")
            time.sleep(_LOOK_AGAIN_S)

    # ── artifacts and deployments ────────────────────────────────────────────

    def artifacts(
        self,
        cursor: str | None = None,
        limit: int = 50,
        *,
        model: str | None = None,
        version: int | None = None,
        target: str | None = None,
    ) -> Page[Artifact]:
        return self._call(calls.artifacts(cursor, limit, model=model, version=version, target=target))

    def download(self, digest: str, directory: Path) -> Manifest:
        """Fetches a bundle into `directory`: verified to the last byte, there whole or not at all. Raises E301–E307."""
        last: RlxError | None = None
        timeouts = self._configuration.timeouts
        for url in self._configuration.endpoints.order():
            network: httpx.HTTPError | None = None
            try:
                with (
                    tempfile.TemporaryFile() as archive,
                    self._http.stream(
                        "GET", f"{url}/v1/artifacts/{digest}/bundle", timeout=timeouts.transferring()
                    ) as answer,
                ):
                    if answer.is_success:
                        for chunk in answer.iter_bytes(1 << 20):
                            archive.write(chunk)
                        archive.seek(0)
                        return unpack_bundle(archive, Path(directory), digest)
                    answer.read()
                    last = of_answer(answer, url)
            except httpx.HTTPError as error:
                network, last = error, of_network(error, url, timeouts)
                self._configuration.endpoints.failed(url)
            if not another_may_answer(last, network):
                break
        assert last is not None
        raise last

    def deploy(
        self,
        model: str,
        targets: Sequence[str] = ("llvm",),
        *,
        name: str | None = None,
        version: int | None = None,
        replicas: int = 0,
        node_selector: Mapping[str, str] | None = None,
    ) -> Deployment:
        """Says which nodes should hold a model: those whose labels match, all of them where `replicas` is 0.

        The deployment is called as its model where it has no `name` of its own.
        """
        request = DeploymentRequest(
            model=model,
            version=version,
            targets=tuple(targets),
            replicas=replicas,
            node_selector=dict(node_selector or {}),
        )
        return self._call(calls.deploy(name or model, request))

    def deployments(self) -> tuple[Deployment, ...]:
        return self._call(calls.deployments())

    def undeploy(self, name: str) -> None:
        self._call(calls.undeploy(name))

    # ── keys ─────────────────────────────────────────────────────────────────

    def create_key(self, name: str, scopes: Sequence[Scope]) -> NewApiKey:
        """A new key that opens `scopes`: read, compile, infer, worker, admin. Its `key` is told once."""
        return self._call(calls.create_key(name, tuple(scopes)))

    def keys(self, cursor: str | None = None, limit: int = 50) -> Page[ApiKey]:
        return self._call(calls.keys(cursor, limit))

    def revoke_key(self, key: ApiKey | str) -> None:
        """It opens nothing from now on. By its id, or as `create_key` and `keys` gave it."""
        self._call(calls.revoke_key(key if isinstance(key, str) else key.id))

    # ── inference ────────────────────────────────────────────────────────────

    def infer(
        self,
        model: str,
        inputs: Mapping[str, Any],
        *,
        version: str | int | None = None,
        target: str | None = None,
        schedule_hint: ScheduleHint | Mapping[str, Any] | None = None,
        wait: float = 0.0,
    ) -> Inference:
        """One inference with tensors or scalars by name.

        `wait` is for how many seconds to come again while the service says that it can answer soon (503): a model that
        is not loaded yet, a device that is full, a caller that asks too often (429).
        """
        call = calls.infer(model, inputs, version, target, schedule_hint)
        end = time.monotonic() + wait
        while True:
            try:
                return self._call(call)
            except RlxError as error:
                left = end - time.monotonic()
                if error.status not in BUSY or left <= 0:
                    raise
            time.sleep(min(_LOOK_AGAIN_S, left))

    def metadata(self, model: str, version: str | int | None = None) -> Signature:
        """The inputs and outputs of a model that is loaded somewhere, and its versions."""
        return self._call(calls.metadata(model, version))

    def nodes(self) -> NodesView:
        """Who is there, with what, and how loaded."""
        return self._call(calls.nodes())

    def live(self) -> bool:
        """Whether the service answers."""
        return self._healthy("live")

    def ready(self) -> bool:
        """Whether a live node has a device that runs."""
        return self._healthy("ready")

    def _healthy(self, what: str) -> bool:
        try:
            self._call(calls.health(what))
        except RlxError:
            return False
        return True

    def _call(self, call: Call[T]) -> T:
        timeouts = self._configuration.timeouts
        timeout = timeouts.computing() if call.computes else timeouts.transferring()
        last: RlxError | None = None
        for url in self._configuration.endpoints.order():
            network: httpx.HTTPError | None = None
            try:
                with ExitStack() as opened:
                    arguments = call.arguments(opened)
                    if call.computes:
                        arguments["headers"] |= {"RLX-Timeout-Ms": str(max(1, round(timeouts.compute * 1e3)))}
                    answer = self._http.request(call.method, url + call.path, timeout=timeout, **arguments)
                if answer.is_success:
                    self._configuration.endpoints.worked(url)
                    return call.read(answer)
                last = of_answer(answer, url)
            except httpx.HTTPError as error:
                network, last = error, of_network(error, url, timeouts)
                self._configuration.endpoints.failed(url)
            if not another_may_answer(last, network):
                break
        assert last is not None
        raise last


def _id(job: Job | str) -> str:
    return job if isinstance(job, str) else job.id
