"""compile-api, GSS and a node, each behind a real port and one key, with something in each of them to ask for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI

from rlx_compile_api.app import create_app as create_compile_api
from rlx_compile_api.service import COMPILER_VERSION
from rlx_compile_api.settings import Settings
from rlx_gss.app import create_app as create_gss
from rlx_gss.settings import GssSettings
from rlx_node.actor import Actor
from rlx_node.app import create_app as create_node
from rlx_node.settings import NodeSettings
from rlx_wire.bundle import pack_bundle
from rlx_wire.jobs import TOKEN_HEADER
from tests.support.bundles import write_small_bundle
from tests.support.compile_api import TOKEN, ListBroker, inspect_text
from tests.support.nodes import CPU, V3, ScriptedExecutor, bundle, replica
from tests.support.redis_server import RedisServer
from tests.support.served import served

__all__ = ["KEY", "Services", "services"]

KEY = "correct horse battery staple"


@dataclass(frozen=True)
class Services:
    """Where each of them is."""

    compile_api: str
    gss: str
    node: str


@contextmanager
def services(folder: Path) -> Iterator[Services]:
    """The broker keeps messages, the node's executor computes in Python, and no child reads uploads: all else is
    real.
    """
    with ExitStack() as stack:
        redis = RedisServer(folder / "redis").start()
        stack.callback(redis.kill)
        gss = stack.enter_context(served(create_gss(GssSettings(redis=redis.url, api_key=KEY))))
        node = stack.enter_context(served(_node(folder)))
        settings = Settings(
            data_folder=folder / "api",
            api_key=KEY,
            scheduler_url=node,
            gss_url=gss,
            lease_seconds=30,
            requests_per_second=0,
        )
        api = stack.enter_context(served(create_compile_api(settings, ListBroker(), inspector=inspect_text)))
        _fill(api, gss, folder)
        yield Services(api, gss, node)


def _node(folder: Path) -> FastAPI:
    """A node that stands alone and holds `m`, version 1."""
    settings = NodeSettings.model_validate({"node": "here", "api_key": KEY, "data_folder": folder / "node"})
    small = bundle(folder)
    executor = ScriptedExecutor()
    local = {replica("m", "1", small): small}
    executors = {executor.device: executor}
    return create_node(Actor(settings, (CPU,), V3, executors, httpx.AsyncClient(), local=local))


def _fill(api: str, gss: str, folder: Path) -> None:
    """A model that was compiled and deployed, another job that waits, a profile, a key; and a node that reports."""
    headers = {"Authorization": f"Bearer {KEY}"}
    with httpx.Client(base_url=api, headers=headers) as http:

        def ask(method: str, path: str, **request: Any) -> httpx.Response:
            return http.request(method, path, **request).raise_for_status()

        program = ask("POST", "/v1/models/m/versions", files={"model": ("m.rlx", b"program")}).json()["program_digest"]
        job = ask("POST", "/v1/compile", json={"model": "m", "targets": ["llvm:x86-64-v3"]}).json()
        task = job["tasks"][0]["id"]
        path = f"/v1/tasks/{task}/attempts/1"
        ask("POST", path, json={"token": TOKEN, "worker": "w", "compiler_version": COMPILER_VERSION})
        digest = write_small_bundle(folder / "made", program, "llvm", "x86-64-v3")
        archive = pack_bundle(folder / "made")
        ask("PUT", f"{path}/artifact/{digest}", content=archive, headers={TOKEN_HEADER: TOKEN})
        ask("POST", f"{path}/result", json={"token": TOKEN, "outcome": "succeeded", "artifact": digest})
        ask("POST", "/v1/compile", json={"model": "m", "targets": ["c"]})
        ask("PUT", "/v1/deployments/m", json={"model": "m", "targets": ["llvm"]})
        ask("POST", "/v1/profiles", json={"traceEvents": []})
        ask("POST", "/v1/keys", json={"name": "of the tests", "scopes": ["read"]})
    with httpx.Client(base_url=gss, headers=headers) as http:
        node = {"id": "here", "addresses": {"http": "http://here"}, "capabilities": {"cpu": "x86-64-v3"}}
        life = http.post("/v1/nodes", json=node).raise_for_status().json()["incarnation"]
        http.put("/v1/nodes/here/status", json={"incarnation": life, "sequence": 1}).raise_for_status()
