"""A cluster in one process: actors with executors that need no compiler, and services that answer from memory."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from fastapi import FastAPI

from rlx_base.errors import RequestError, RlxError
from rlx_cluster.deployments import Replica
from rlx_node.actor import Actor
from rlx_node.app import create_app
from rlx_node.settings import NodeSettings
from rlx_runtime import KernelTiming, Profile, Result
from rlx_wire.api import DeployedArtifact, Deployment, DeploymentList
from rlx_wire.bundle import pack_bundle, read_manifest, write_bundle
from rlx_wire.cpu import LEVELS
from rlx_wire.inference import Timings
from rlx_wire.manifest import KernelSpec, Manifest, NativeSegment, TensorSpec
from rlx_wire.nodes import Capabilities, Device, NodesView, NodeView
from rlx_wire.service.keys import bearer

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CPU = Device(kind="cpu", index=0, name="CPU", cores=2, memory_bytes=1 << 30, targets=("c", "llvm"))
V3 = Capabilities(cpu="x86-64-v3", cpu_features=tuple(sorted(LEVELS["x86-64-v3"].features)))


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class ScriptedExecutor:
    """Holds bundles as the real one does, and computes `y = x × opt_level` itself.

    Tests decide what goes wrong: `fail` is raised by the next runs, `gate` holds them.
    """

    def __init__(self, device: str = "cpu:0") -> None:
        self.device = device
        self.ready = False
        self.running = 0
        self.queue_depth = 0
        self.loaded: dict[str, Manifest] = {}
        self.fail: RlxError | None = None
        self.refuse: RlxError | None = None
        self.gate: asyncio.Event | None = None
        self.runs = 0
        self.cancelled = 0

    async def start(self) -> None:
        self.ready = True

    async def close(self) -> None:
        self.ready = False

    async def load(self, digest: str, directory: Path) -> int:
        if self.refuse is not None:
            raise self.refuse
        self.loaded[digest] = read_manifest(directory)
        return 2_000_000

    async def unload(self, digest: str) -> None:
        self.loaded.pop(digest, None)

    async def run(
        self, digest: str, inputs: Mapping[str, Any], *, deadline: float | None = None, trace: bool = False
    ) -> Result:
        self.runs += 1
        if digest not in self.loaded:
            raise RequestError("E414", model=digest[:12], why="not held")
        try:
            async with asyncio.timeout_at(deadline):
                if self.gate is not None:
                    await self.gate.wait()
        except TimeoutError:
            raise RequestError("E417", phase="compute", limit="its time", setting="timeout") from None
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.fail is not None:
            raise self.fail
        if "x" not in inputs:
            raise RequestError("E415", model="scaled", what="input 'x' is missing", inputs="x")
        scale = np.float32(self.loaded[digest].opt_level)
        timings = Timings(queue_ns=1, compute_input_ns=2, compute_ns=3_000, compute_output_ns=4, total_ns=3_007)
        with np.errstate(over="ignore"):
            profile = Profile.of(self.loaded[digest], 1, [(KernelTiming(0, 0, 10, 3_010),)]) if trace else None
            return Result({"y": inputs["x"] * scale}, timings, profile)


def bundle(folder: Path, scale: int = 2, target: str = "llvm", cpu: str = "x86-64-v3") -> Path:
    """A bundle with all but code, in a folder named by its digest."""
    tensor = {"dtype": "float32", "shape": ("n", 2)}
    manifest = Manifest(
        compiler_version="0.1.0",
        target=target,
        cpu=cpu,
        cpu_features=tuple(sorted(LEVELS[cpu].features)),
        opt_level=scale,
        program_digest="0" * 64,
        meaning_digest="0" * 64,
        model="scaled",
        inputs=(TensorSpec(name="x", **tensor),),
        outputs=(TensorSpec(name="y", **tensor),),
        dims=("n",),
        workspace_bytes=0,
        weights_bytes=0,
        kernels=(KernelSpec(name="k", ops=("scale",), flops=1, bytes=1),),
        launch_plan=(NativeSegment(kernels=(0, 1)),),
    )
    fresh = folder / "fresh"
    digest = write_bundle(fresh, manifest, {"librlx_kernel.so": b"no code"})
    return fresh.rename(folder / digest)


def deployment(model: str, version: int, *artifacts: Path, targets: tuple[str, ...] | None = None) -> Deployment:
    compiled = []
    for path in artifacts:
        manifest = read_manifest(path)
        compiled.append(DeployedArtifact(target=manifest.target, cpu=manifest.cpu, digest=path.name, bytes=1))
    return Deployment(
        name=f"{model}-{version}",
        model=model,
        version=version,
        program_digest="0" * 64,
        targets=targets or tuple(a.target for a in compiled),
        replicas=0,
        node_selector={},
        artifacts=tuple(compiled),
        created_at=NOW,
        updated_at=NOW,
    )


class ApiInMemory:
    """What a node asks compile-api for. `down` makes it unreachable, `spoil` changes the bundles that it sends."""

    def __init__(self) -> None:
        self.version = 0
        self.items: tuple[Deployment, ...] = ()
        self.archives: dict[str, bytes] = {}
        self.down = False
        self.spoil: Callable[[bytes], bytes] = lambda archive: archive
        self.asked: list[str] = []

    def deploy(self, *items: Deployment, bundles: tuple[Path, ...] = ()) -> None:
        self.version += 1
        self.items = items
        self.archives |= {path.name: pack_bundle(path) for path in bundles}

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if self.down:
            raise httpx.ConnectError("All connection attempts failed")
        self.asked.append(str(request.url.path))
        if request.url.path == "/v1/deployments":
            answer = DeploymentList(version=self.version, items=self.items)
            return httpx.Response(200, content=answer.model_dump_json())
        digest = request.url.path.split("/")[3]
        if digest not in self.archives:
            return httpx.Response(404)
        return httpx.Response(200, content=self.spoil(self.archives[digest]))


class GssInMemory:
    """A GSS as its protocol says, in a dict."""

    def __init__(self) -> None:
        self.lives: dict[str, int] = {}
        self.reports: list[dict[str, Any]] = []
        self.polls: list[dict[str, str]] = []
        self.views: list[NodesView] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        parts = request.url.path.split("/")
        if request.method == "POST":
            node = json.loads(request.content)
            life = self.lives[node["id"]] = max(self.lives.get(node["id"], 0), node["last_incarnation"]) + 1
            return httpx.Response(200, json={"id": node["id"], "incarnation": life, "heartbeat_ms": 250})
        if request.method == "PUT":
            status = json.loads(request.content)
            if self.lives.get(parts[3]) != status["incarnation"]:
                return httpx.Response(409)
            self.reports.append(status)
            return httpx.Response(204)
        if request.method == "DELETE":
            self.lives.pop(parts[3])
            return httpx.Response(204)
        self.polls.append(dict(request.url.params))
        return httpx.Response(200, content=self.views.pop(0).model_dump_json())


class Network(httpx.AsyncBaseTransport):
    """Every host of the cluster by name; what is not there, or is `cut` off, refuses connections."""

    def __init__(self) -> None:
        self.hosts: dict[str, httpx.AsyncBaseTransport] = {}
        self.cut: set[str] = set()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        host = request.url.host
        if host in self.cut or host not in self.hosts:
            raise httpx.ConnectError("All connection attempts failed")
        return await self.hosts[host].handle_async_request(request)


class Node:
    """An actor, its HTTP face, and a client that talks to it."""

    def __init__(self, actor: Actor, app: FastAPI, executor: ScriptedExecutor, http: httpx.AsyncClient) -> None:
        self.actor = actor
        self.app = app
        self.executor = executor
        self.http = http

    async def settle(self) -> None:
        """Reconciles until nothing is due."""
        while await self.actor.reconciler.step():
            pass

    async def deployed(self) -> None:
        """Hears of the deployments and reaches them."""
        await self.actor.deployments.poll()
        await self.settle()


class Cluster:
    """Actors that share a network and a clock. Their repeated steps are the tests' to take."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = Clock()
        self.api = ApiInMemory()
        self.network = Network()
        self.network.hosts["api"] = httpx.MockTransport(self.api)
        self.nodes: dict[str, Node] = {}
        self._told = 0

    def join(self, name: str, *, devices: tuple[Device, ...] = (CPU,), **settings: Any) -> Node:
        """A node of this name; again with the same name, the node after a restart."""
        values: dict[str, Any] = {
            "node": name,
            "advertise": f"http://{name}",
            "data_folder": self.folder / name,
            "cluster": {"mode": "distributed", "api": "http://api", "gss": {"endpoints": ["http://gss"]}},
            "drain_seconds": 5,
            "api_key": "of the cluster",
        }
        configured = NodeSettings.model_validate(values | settings)
        headers = bearer(configured.key)
        executor = ScriptedExecutor()
        executors = {executor.device: executor} if any(device.targets for device in devices) else {}
        outgoing = httpx.AsyncClient(transport=self.network, headers=headers)
        actor = Actor(configured, devices, V3, executors, outgoing, self.clock)
        app = create_app(actor)
        self.network.hosts[name] = httpx.ASGITransport(app, raise_app_exceptions=False)
        http = httpx.AsyncClient(transport=self.network, base_url=f"http://{name}", headers=headers)
        node = self.nodes[name] = Node(actor, app, executor, http)
        return node

    async def start(self) -> None:
        """Starts the executors."""
        for node in self.nodes.values():
            await node.actor.holdings.start()

    def introduce(self) -> None:
        """Everybody hears of everybody, as a GSS would tell."""
        self._told += 1
        records = [node.actor.record().model_copy(update={"sequence": self._told}) for node in self.nodes.values()]
        views = tuple(NodeView(record=record, liveness="alive", age_ms=0) for record in records)
        for node in self.nodes.values():
            node.actor.view.absorb(NodesView(version=self._told, epoch="test", nodes=views))


def ask(values: list[list[float]] | None = None, **more: Any) -> dict[str, Any]:
    """The body of an inference."""
    x = np.array(values or [[1, 2]], np.float32)
    return {"model": "m", "inputs": {"x": {"dtype": "float32", "shape": list(x.shape), "data": x.tolist()}}, **more}


def replica(model: str, version: str, path: Path) -> Replica:
    return Replica(model, version, read_manifest(path).target, path.name)
