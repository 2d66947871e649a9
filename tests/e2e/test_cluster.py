"""A cluster of real processes serves, and goes on serving when parts of it die."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.cluster import CRASH, ProcessCluster, doubling_bundle, until
from tests.support.crowding import crowding
from tests.support.nodes import deployment


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProcessCluster]:
    folder = tmp_path_factory.mktemp("cluster")
    cluster = ProcessCluster(folder)
    there = doubling_bundle(folder / "made")
    cluster.api.deploy(deployment("m", 1, there), bundles=(there,))
    try:
        cluster.redis.start()
        for name in ("gss", "scheduler", "node"):
            cluster.start(name)
        until(lambda: serves(cluster), 60, "the first answer")
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture
def cluster(running: ProcessCluster) -> ProcessCluster:
    """All of it up again, whatever an earlier test left."""
    running.api.down = False
    running.redis.start()
    for name in ("gss", "scheduler", "node"):
        if name not in running.processes:
            running.start(name)
    until(lambda: serves(running), 60, "an answer")
    return running


def serves(cluster: ProcessCluster, through: str = "scheduler") -> bool:
    try:
        return cluster.infer(through).status_code == 200
    except httpx.TransportError:
        return False


def test_the_scheduler_passes_a_request_to_the_node_that_has_the_model(cluster: ProcessCluster) -> None:
    answer = cluster.infer("scheduler").json()
    assert answer["node"] == "node"
    assert answer["outputs"]["y"]["data"] == [2.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0]
    times = answer["timings"]
    assert times["compute_ns"] > 0
    assert times["transfer_ns"] > 0
    assert sum(value for name, value in times.items() if name != "total_ns") == times["total_ns"]
    v2 = {"inputs": [{"name": "x", "shape": [8], "datatype": "FP32", "data": [1] * 8}]}
    through_v2 = httpx.post(f"{cluster.url('scheduler')}/v2/models/m/infer", json=v2, timeout=30).json()
    assert through_v2["outputs"][0]["data"] == [2.0] * 8


def test_a_kernel_that_crashes_takes_down_its_executor_only(cluster: ProcessCluster) -> None:
    pid = cluster.processes["node"].pid
    latencies: list[float] = []
    crashed = threading.Event()

    def ask_for_health() -> None:
        with httpx.Client(base_url=cluster.url("node"), timeout=5) as client:
            while not crashed.is_set() or len(latencies) < 100:
                began = time.perf_counter()
                assert client.get("/v2/health/live").status_code == 200
                latencies.append(time.perf_counter() - began)
                time.sleep(0.002)

    asking = threading.Thread(target=ask_for_health)
    asking.start()
    try:
        for _ in range(3):
            answer = cluster.infer("node", first=CRASH)
            assert answer.status_code == 500
            assert answer.json()["code"] == "RLX-E504"
            assert "SIGSEGV" in answer.text
            until(lambda: serves(cluster, "node"), 2.0 * crowding(), "the executor is back")
    finally:
        crashed.set()
        asking.join()
    assert cluster.processes["node"].poll() is None
    assert cluster.processes["node"].pid == pid
    latencies.sort()
    assert latencies[len(latencies) * 99 // 100] < 0.1 * crowding()
    until(lambda: serves(cluster), 2.0 * crowding(), "the scheduler has heard that it is back")


def test_a_node_that_is_killed_is_missed_and_serves_again_without_compile_api(cluster: ProcessCluster) -> None:
    cluster.kill("node")
    gone = cluster.infer("scheduler")
    assert gone.status_code in (502, 503)
    assert gone.json()["code"] in ("RLX-E503", "RLX-E416")
    until(lambda: not cluster.ready("scheduler"), 10, "the scheduler notices")
    cluster.api.down = True
    cluster.start("node")
    until(lambda: serves(cluster), 30, "the node serves what it has on disk")


def test_a_second_node_joins_and_takes_over(cluster: ProcessCluster) -> None:
    cluster.start("second")
    until(lambda: serves(cluster, "second"), 30, "the second node has the model")
    until(lambda: {cluster.infer("scheduler").json()["node"] for _ in range(6)} == {"node", "second"}, 10, "both serve")
    cluster.kill("node")
    # Whatever the scheduler's view is by now, no request fails: the other node is tried.
    assert {cluster.infer("scheduler").json()["node"] for _ in range(10)} == {"second"}
    cluster.start("node")
    until(lambda: serves(cluster, "node"), 30, "the first node is back")
    cluster.kill("second")


def test_without_gss_and_redis_requests_go_on_and_a_new_gss_is_filled_by_the_nodes(cluster: ProcessCluster) -> None:
    cluster.kill("gss")
    cluster.redis.kill()
    cluster.redis.forget()
    assert all(serves(cluster) for _ in range(5))
    cluster.redis.start()
    cluster.start("gss")
    names = {"node", "scheduler"}
    until(lambda: _known(cluster) == names, 20, "the gss knows everybody again")
    assert all(serves(cluster) for _ in range(5))
    assert "Failed to connect to GSS" in cluster.log("node")


def test_the_log_is_json_and_carries_the_request(cluster: ProcessCluster, tmp_path: Path) -> None:
    headers = {"X-Request-Id": "find-me"}
    httpx.get(f"{cluster.url('scheduler')}/v1/node", headers=headers, timeout=5)

    def found() -> list[str]:
        return [line for line in cluster.log("scheduler").splitlines() if "find-me" in line]

    # A request is logged once it is over, which its caller may know first.
    until(found, 10, "the request is in the log")
    assert all(line.startswith("{") for line in found())


def test_a_node_that_is_told_to_stop_drains_and_leaves(cluster: ProcessCluster) -> None:
    node = cluster.processes.pop("node")
    node.send_signal(signal.SIGTERM)
    assert node.wait(timeout=15) == 0
    assert _known(cluster) == {"scheduler"}
    # Until the scheduler has heard of it, it may still try the node that has left: 502.
    until(lambda: cluster.infer("scheduler").status_code == 503, 10, "the scheduler knows that nobody has the model")


def _known(cluster: ProcessCluster) -> set[str]:
    try:
        view = httpx.get(f"{cluster.url('gss')}/v1/nodes", timeout=5).json()
    except httpx.TransportError:
        return set()
    return {node["record"]["id"] for node in view["nodes"] if node["liveness"] == "alive"}
