"""A node for accelerators reports what it finds and what that runs; where it runs nothing, it says so."""

from __future__ import annotations

from pathlib import Path

import httpx
import numpy as np
import pytest

from rlx_base.errors import ArtifactError
from rlx_compiler import CompileOptions, compile_module
from rlx_ir.text import parse
from rlx_node.app import create_actor, create_app
from rlx_node.devices import devices
from rlx_node.settings import NodeSettings
from rlx_runtime import Executor
from rlx_runtime.devices import DetectedDevice
from rlx_runtime.runners import find_runner
from rlx_worker_gpu.main import KINDS, GpuNodeSettings

MODEL = """
@rlx.module
def net():
    x = rlx.tensor(shape=[4], dtype="float32")
    return rlx.relu(x)
"""

FOUND = (
    DetectedDevice(type="cpu", index=0, name="a CPU", memory=1, available=True),
    DetectedDevice(type="cuda", index=0, name="", memory=0, available=False, reason="libcuda.so.1 is not there"),
    DetectedDevice(type="opencl", index=0, name="a GPU", memory=8 << 30, available=True),
)


def test_it_has_a_name_and_a_port_of_its_own() -> None:
    assert GpuNodeSettings().bind_addr != NodeSettings().bind_addr
    assert GpuNodeSettings().node != NodeSettings().node


async def test_it_reports_its_devices_and_is_not_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rlx_node.devices.detect", lambda kinds: FOUND)
    monkeypatch.setattr("rlx_node.devices.served_targets", lambda kind: ())
    actor = create_actor(GpuNodeSettings.model_validate({"data_folder": tmp_path}), ("opencl", "cuda"))
    app = create_app(actor)
    transport = httpx.ASGITransport(app)
    async with (
        httpx.AsyncClient(transport=transport, base_url="http://localhost") as http,
        app.router.lifespan_context(app),
    ):
        devices = (await http.get("/v1/node")).json()["devices"]
        assert [(device["kind"], device["name"], device["targets"]) for device in devices] == [("opencl", "a GPU", [])]
        assert (await http.get("/v2/health/live")).status_code == 200
        assert (await http.get("/v2/health/ready")).status_code == 503
        body = {"model": "m", "inputs": {}}
        assert (await http.post("/v1/infer", json=body)).json()["code"] == "RLX-E412"


@pytest.mark.parametrize("target", ["cuda", "opencl"])
async def test_a_bundle_runs_in_the_executor_of_a_device(target: str, tmp_path: Path) -> None:
    try:
        find_runner(target)
    except ArtifactError as error:
        pytest.skip(error.message)
    result = compile_module(parse(MODEL), CompileOptions(target), tmp_path / "bundle")
    async with Executor(f"{target}:0") as executor:
        assert await executor.load(result.digest, result.directory) > 0
        given = np.asarray([-1.0, 0.0, 2.0, -3.0], np.float32)
        found = await executor.run(result.digest, {"x": given}, trace=True)
    assert found.outputs["output"].tolist() == [0.0, 0.0, 2.0, 0.0]
    assert found.profile is not None
    assert [row.kernel for run in found.profile.runs for row in run] == [0]


async def test_the_devices_of_this_machine_say_what_they_serve() -> None:
    for device in devices(KINDS):
        assert device.targets == (device.kind,)
