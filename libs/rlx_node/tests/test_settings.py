"""A node's configuration file as the documentation shows it, and what a node makes of it."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from rlx_base.errors import ClusterError
from rlx_cluster.placement import Link
from rlx_node.app import create_actor
from rlx_node.devices import capabilities, devices
from rlx_node.memory import NodeMemory
from rlx_node.settings import DeviceSettings, NodeSettings
from rlx_runtime.devices import DetectedDevice
from rlx_wire.api import DeploymentList
from rlx_wire.cpu import LEVELS

FILE = """
cluster:
  mode: distributed
  gss: {endpoints: ["http://gss-01:9000", "http://gss-02:9000"]}
  nodes:
    - {id: gpu-node-01, host: gpu-node-01.internal, port: 8080, devices: [{type: cuda, index: 0, memory: 40GB}]}
    - {id: cpu-node-01, host: cpu-node-01.internal, port: 8080, devices: [{type: cpu, cores: 64, memory: 256GB}]}
network:
  {latency_budget_ms: 500, bandwidth: 25Gbps,
   links: [{between: [gpu-node-01, cpu-node-01], bandwidth: 10Gbps, latency: 0.2ms}]}
runtime: {context_pool_size: 8, threads: auto}
node: cpu-node-01
"""


@pytest.fixture
def settings(tmp_path: Path) -> NodeSettings:
    file = tmp_path / "cluster.yaml"
    file.write_text(FILE)
    return NodeSettings.read(file)


def test_units_links_and_this_nodes_entry(settings: NodeSettings) -> None:
    assert settings.entry is not None
    assert settings.entry.devices[0].memory == 256 * 10**9
    assert settings.links["gpu-node-01"] == Link(latency_us=200, bytes_per_second=1_250_000_000)
    assert settings.links["cpu-node-01"].bytes_per_second == 3_125_000_000


def test_an_unknown_key_deep_in_the_file_names_the_nearest(tmp_path: Path) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text(FILE.replace("cores: 64", "core: 64"))
    with pytest.raises(ClusterError, match=r"cluster\.nodes\.1\.devices\.0\.core.*\n.*did you mean cores\?"):
        NodeSettings.read(file)


@pytest.mark.parametrize(
    ("values", "url"),
    [
        ({}, "http://127.0.0.1:8090"),
        ({"advertise": "http://elsewhere/"}, "http://elsewhere"),
        ({"bind_addr": "[::1]:80"}, "http://[::1]:80"),
        ({"node": "n", "bind_addr": "0.0.0.0:80", "cluster": {"nodes": [{"id": "n", "host": "h"}]}}, "http://h:80"),
    ],
)
def test_where_others_reach_this_node(values: dict[str, object], url: str) -> None:
    assert NodeSettings.model_validate(values).url == url


def found(kind: str, index: int = 0, *, available: bool = True) -> DetectedDevice:
    return DetectedDevice(type=kind, index=index, name=kind, memory=100, available=available, reason="no driver")


def test_devices_that_run_nothing_are_reported_and_missing_ones_are_not(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    detected = [found("cpu"), found("fpga"), found("cuda", available=False)]
    known = devices(None, (), detected)
    assert [(d.id, d.targets) for d in known] == [("cpu:0", ("c", "llvm", "wasm")), ("fpga:0", ())]
    assert "no cuda device here: no driver" in caplog.text
    assert [d.id for d in devices(("fpga", "cuda"), (), detected)] == ["fpga:0"]
    assert devices((), (), detected) == ()


def test_what_the_file_says_of_a_device_overrides_what_was_found_and_is_shown(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    declared = [DeviceSettings(type="cpu", memory=7, cores=3), DeviceSettings(type="cuda", index=1)]
    (cpu,) = devices(None, declared, [found("cpu")])
    assert (cpu.memory_bytes, cpu.cores) == (7, 3)
    assert "memory_bytes is 7 by configuration, 100 was found" in caplog.text
    assert "declares cuda:1, which is not found" in caplog.text


def test_this_machine_has_a_named_level_with_its_features() -> None:
    here = capabilities({"zone": "east"})
    assert LEVELS[here.cpu].features <= here.features
    assert here.labels == {"zone": "east"}


async def test_an_actor_of_this_machine_has_one_executor_for_each_device_that_runs(tmp_path: Path) -> None:
    settings = NodeSettings.model_validate({"data_folder": tmp_path, "node": "n"})
    actor = create_actor(settings, ("cpu",))
    assert [device.id for device in actor.record().devices] == ["cpu:0"]
    assert not actor.ready
    scheduler = create_actor(settings, ())
    assert scheduler.record().devices == ()
    for each in (actor, scheduler):
        await each.close()


def test_what_a_node_remembers(tmp_path: Path) -> None:
    memory = NodeMemory(tmp_path / "n")
    assert (memory.incarnation, memory.deployments) == (0, None)
    memory.incarnation = 7
    memory.deployments = DeploymentList(version=3, items=())
    again = NodeMemory(tmp_path / "n")
    assert (again.incarnation, again.deployments) == (7, DeploymentList(version=3, items=()))
    (tmp_path / "n" / "incarnation").write_text("garbage")
    (tmp_path / "n" / "deployments.json").write_text("{")
    assert (again.incarnation, again.deployments) == (0, None)
    assert {path.name for path in (tmp_path / "n").iterdir()} == {"incarnation", "deployments.json"}


def test_a_folder_that_cannot_be_written_costs_the_memory_and_not_the_node(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    memory = NodeMemory(tmp_path / "n")
    (tmp_path / "n").rmdir()
    memory.incarnation = 7
    assert "incarnation is not remembered" in caplog.text
