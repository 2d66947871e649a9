"""A node for accelerators reports what it finds and what that runs; where it runs nothing, it says so."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from rlx_node.app import create_actor, create_app
from rlx_node.settings import NodeSettings
from rlx_runtime.devices import DetectedDevice
from rlx_worker_gpu.main import GpuNodeSettings

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
