"""A cluster of real processes, gss, scheduler and nodes, over a real Redis; compile-api answers from this process."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import httpx
import numpy as np

from rlx_wire.abi import header
from rlx_wire.bundle import write_bundle
from rlx_wire.manifest import KernelSpec, Manifest, NativeSegment, TensorSpec
from tests.support.nodes import ApiInMemory
from tests.support.ports import free_port
from tests.support.redis_server import RedisServer

__all__ = ["COUNT", "CRASH", "ProcessCluster", "doubling_bundle", "until"]

COUNT: Final = 8
CRASH: Final = 666.0
"""The first element of an input that makes the kernel dereference NULL."""

SOURCE: Final = f"""
#include "rlx_kernel.h"
int32_t rlx_main(const rlx_call *call) {{
    if (call->abi_version != RLX_ABI_VERSION || call->size < sizeof(rlx_call)) return RLX_BAD_CALL;
    const float *x = call->inputs[0];
    float *y = call->outputs[0];
    if (x[0] == {CRASH}f) *(volatile int *)0 = 1;
    for (int i = call->thread_index; i < {COUNT}; i += call->thread_count) y[i] = 2.0f * x[i];
    return RLX_OK;
}}
"""


def doubling_bundle(folder: Path, target: str = "c") -> Path:
    """A bundle of hand-written C, `y = 2x`, in a folder named by its digest."""
    folder.mkdir()
    (folder / "rlx_kernel.h").write_text(header())
    (folder / "kernel.c").write_text(SOURCE)
    library = folder / "librlx_kernel.so"
    command = ["gcc", "-O1", "-shared", "-fPIC", "-Wall", "-Werror", "kernel.c", "-o", library.name]
    subprocess.run(command, check=True, cwd=folder)
    tensor = {"dtype": "float32", "shape": (COUNT,)}
    manifest = Manifest(
        compiler_version="0",
        target=target,
        cpu="x86-64",
        cpu_features=(),
        opt_level=1,
        program_digest="0" * 64,
        meaning_digest="0" * 64,
        model="double",
        inputs=(TensorSpec(name="x", **tensor),),
        outputs=(TensorSpec(name="y", **tensor),),
        workspace_bytes=0,
        weights_bytes=0,
        kernels=(KernelSpec(name="double", ops=("mul",), flops=COUNT, bytes=8 * COUNT),),
        launch_plan=(NativeSegment(kernels=(0, 1)),),
    )
    fresh = folder / "bundle"
    digest = write_bundle(fresh, manifest, {library.name: library, "weights.bin": b""})
    return fresh.rename(folder / digest)


def until(condition: Callable[[], Any], seconds: float, what: str) -> float:
    """Seconds until the condition held; fails when it does not within `seconds`."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < seconds, f"not within {seconds} s: {what}"
        time.sleep(0.02)
    return time.monotonic() - began


class ProcessCluster:
    """Start and kill services by name: `gss`, `scheduler`, and any other name for a node."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.api = ApiInMemory()
        self.redis = RedisServer(folder / "redis")
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.ports = {"gss": free_port(), "scheduler": free_port()}
        self._server = _serve(self.api)

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.ports[name]}"

    def start(self, name: str) -> None:
        self.ports.setdefault(name, free_port())
        program = {"gss": "rlx-gss", "scheduler": "rlx-scheduler"}.get(name, "rlx-node")
        command = [str(Path(sys.executable).parent / program), "--bind-addr", f"127.0.0.1:{self.ports[name]}"]
        environment = {**os.environ, "RLX_REDIS": self.redis.url}
        if name != "gss":
            command += ["--node", name, "--data-folder", str(self.folder / name)]
            command += ["--cluster.mode", "distributed", "--cluster.gss.endpoints", self.url("gss")]
            command += ["--cluster.api", f"http://127.0.0.1:{self._server.server_address[1]}"]
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=log, env=environment)

    def kill(self, name: str) -> None:
        """SIGKILL."""
        process = self.processes.pop(name)
        process.kill()
        process.wait()

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text()

    def ready(self, name: str) -> bool:
        try:
            return httpx.get(f"{self.url(name)}/v2/health/ready", timeout=5).status_code == 200
        except httpx.TransportError:
            return False

    def infer(self, name: str, first: float = 1.0, target: str | None = None) -> httpx.Response:
        x = np.arange(COUNT, dtype=np.float32)
        x[0] = first
        body: dict[str, Any] = {
            "model": "m",
            "inputs": {"x": {"dtype": "float32", "shape": [COUNT], "data": x.tolist()}},
        }
        if target is not None:
            body["target"] = target
        return httpx.post(f"{self.url(name)}/v1/infer", json=body, timeout=30)

    def stop(self) -> None:
        for name in list(self.processes):
            self.kill(name)
        self.redis.kill()
        self._server.shutdown()
        self._server.server_close()


def _serve(api: ApiInMemory) -> ThreadingHTTPServer:
    """The answers of `ApiInMemory` on a real port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if api.down:
                self.send_error(503)
                return
            url = httpx.URL(f"http://api{self.path}")
            # A real one holds this until something changes; the node must not spin here.
            if url.path == "/v1/deployments" and url.params.get("version") == str(api.version):
                time.sleep(0.2)
            answer = api(httpx.Request("GET", url))
            # A node that a test kills does not wait for its answer.
            with suppress(ConnectionError):
                self.send_response(answer.status_code)
                self.send_header("Content-Length", str(len(answer.content)))
                self.end_headers()
                self.wfile.write(answer.content)

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, name="api", daemon=True).start()
    return server
