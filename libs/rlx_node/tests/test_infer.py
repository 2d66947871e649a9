"""One node answers inferences: on RLX's own route and on the Open Inference Protocol's."""

from __future__ import annotations

import asyncio
import base64
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rlx_base.errors import ClusterError, RequestError
from rlx_node.peaks import Peaks
from rlx_runtime import Peak
from tests.support.nodes import Cluster, Node, ask, bundle, deployment


async def test_an_answer_says_where_it_ran_how_long_and_why(node: Node) -> None:
    answer = (await node.http.post("/v1/infer", json=ask(target="llvm"), headers={"X-Request-Id": "r1"})).json()
    assert answer["outputs"] == {"y": {"dtype": "float32", "shape": [1, 2], "data": [2.0, 4.0]}}
    assert (answer["model"], answer["version"], answer["target"]) == ("m", "1", "llvm")
    assert (answer["node"], answer["device"]) == ("a", "cpu:0")
    times = answer["timings"]
    assert times["compute_ns"] == 3_000
    assert sum(value for name, value in times.items() if name != "total_ns") == times["total_ns"]
    assert answer["decision"]["request_id"] == "r1"
    assert [c["target"] for c in answer["decision"]["candidates"]] == ["llvm"]
    assert answer["decision"]["attempts"] == [{"node": "a", "device": "cpu:0", "outcome": "ok"}]


async def test_the_target_picks_among_those_loaded(node: Node) -> None:
    results = {}
    for target in ("llvm", "c"):
        answer = (await node.http.post("/v1/infer", json=ask(target=target))).json()
        results[target] = answer["outputs"]["y"]["data"]
    assert results == {"llvm": [2.0, 4.0], "c": [3.0, 6.0]}


async def test_an_input_in_base64_is_answered_in_base64(node: Node) -> None:
    x = np.array([[1, 2]], np.float32)
    tensor = {"dtype": "float32", "shape": [1, 2], "b64": base64.b64encode(x.tobytes()).decode()}
    answer = (await node.http.post("/v1/infer", json={"model": "m", "target": "llvm", "inputs": {"x": tensor}})).json()
    assert base64.b64decode(answer["outputs"]["y"]["b64"]) == (2 * x).tobytes()


async def test_the_latest_version_is_meant_unless_another_is_named(
    node: Node, cluster: Cluster, tmp_path: Path
) -> None:
    newer = bundle(tmp_path, 1)
    cluster.api.deploy(*cluster.api.items, deployment("m", 2, newer), bundles=(newer,))
    await node.deployed()
    assert (await node.http.post("/v1/infer", json=ask())).json()["version"] == "2"
    assert (await node.http.post("/v1/infer", json=ask(version=1))).json()["version"] == "1"
    v2 = {"inputs": [{"name": "x", "shape": [1, 2], "datatype": "FP32", "data": [1, 2]}]}
    assert (await node.http.post("/v2/models/m/versions/1/infer", json=v2)).json()["model_version"] == "1"


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (ask(model="nothing"), 404, "RLX-E412"),
        (ask(version="7"), 404, "RLX-E413"),
        (ask(target="cuda"), 404, "RLX-E413"),
        (ask(schedule_hint={"preferred_devices": ["cuda:0"], "required": True}), 409, "RLX-E421"),
        (ask(unknown=1), 422, "RLX-E433"),
        ({"model": "m"}, 422, "RLX-E433"),
        (ask() | {"inputs": {"x": {"dtype": "float32", "shape": [3], "data": [1]}}}, 400, "RLX-E411"),
        (ask() | {"inputs": {"x": {"dtype": "float99", "shape": [1], "data": [1]}}}, 400, "RLX-E410"),
    ],
)
async def test_what_cannot_be_answered_says_why(node: Node, body: dict[str, Any], status: int, code: str) -> None:
    answer = await node.http.post("/v1/infer", json=body)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.headers["content-type"] == "application/problem+json"


async def test_a_hint_for_a_device_that_is_not_there_is_only_a_preference(node: Node) -> None:
    hinted = ask(schedule_hint={"preferred_devices": ["cuda:0"]})
    assert (await node.http.post("/v1/infer", json=hinted)).json()["device"] == "cpu:0"


async def test_a_model_that_is_deployed_and_not_loaded_yet_asks_to_come_again(cluster: Cluster, tmp_path: Path) -> None:
    node = cluster.join("a")
    await cluster.start()
    there = bundle(tmp_path)
    cluster.api.deploy(deployment("m", 4, there, targets=("llvm", "c")))
    await node.actor.deployments.poll()
    first = await node.http.post("/v1/infer", json=ask())
    assert (first.status_code, first.json()["code"]) == (503, "RLX-E414")
    assert int(first.headers["retry-after"]) > 0
    assert "version 4 is being loaded for llvm" in first.json()["detail"]
    waiting = await node.http.post("/v1/infer", json=ask(target="c"))
    assert "nothing has compiled version 4 for c" in waiting.json()["detail"]
    assert "ask again in a moment" in first.text
    assert "ask again in a moment" not in waiting.text, "nobody compiles it meanwhile"
    assert "`client.compile('m', ['c'], version=4)`" in waiting.text
    assert "`rlx compile --remote URL -m FILE -t c`" in waiting.text
    assert (await node.http.get("/v2/models/m/ready")).status_code == 503


async def test_nan_and_infinity_come_back(node: Node) -> None:
    big = 3e38  # × 2 is beyond float32
    answer = (await node.http.post("/v1/infer", json=ask([[big, 1]], target="llvm"))).json()
    raw = base64.b64decode(answer["outputs"]["y"]["b64"])
    assert np.frombuffer(raw, "<f4").tolist() == [np.inf, 2]
    v2 = {
        "parameters": {"target": "llvm"},
        "inputs": [{"name": "x", "shape": [1, 2], "datatype": "FP32", "data": [big, 1]}],
    }
    assert (await node.http.post("/v2/models/m/infer", json=v2)).json()["outputs"][0]["data"] == [np.inf, 2]


async def test_a_body_over_the_limit_is_refused_while_it_streams_in(cluster: Cluster) -> None:
    node = cluster.join("a", runtime={"max_request_bytes": 1000})
    sent = 0

    async def endless() -> Any:
        nonlocal sent
        while True:
            sent += 400
            yield b"x" * 400

    answer = await node.http.post("/v1/infer", content=endless())
    assert (answer.status_code, answer.json()["code"]) == (413, "RLX-E431")
    assert sent <= 1600


async def test_a_body_that_is_no_json_is_refused(node: Node) -> None:
    assert (await node.http.post("/v1/infer", content=b"{")).json()["code"] == "RLX-E433"
    assert (await node.http.post("/v2/models/m/infer", content=b"[" * 5000)).status_code == 400
    wrong_type = await node.http.post("/v1/infer", content=b"a=1", headers={"Content-Type": "text/plain"})
    assert (wrong_type.status_code, wrong_type.json()["code"]) == (415, "RLX-E432")


async def test_the_time_a_request_brings_ends_it(node: Node) -> None:
    node.executor.gate = asyncio.Event()
    late = await node.http.post("/v1/infer", json=ask(), headers={"RLX-Timeout-Ms": "20"})
    assert (late.status_code, late.json()["code"]) == (504, "RLX-E417")
    v2 = {
        "parameters": {"timeout": 20_000},
        "inputs": [{"name": "x", "shape": [1, 2], "datatype": "FP32", "data": [1, 2]}],
    }
    assert (await node.http.post("/v2/models/m/infer", json=v2)).status_code == 504
    for wrong in ("0", "-1", "soon", "9" * 30):
        answer = await node.http.post("/v1/infer", json=ask(), headers={"RLX-Timeout-Ms": wrong})
        assert answer.json()["code"] == "RLX-E419"


async def test_a_caller_that_hangs_up_gives_its_slot_back(node: Node) -> None:
    node.executor.gate = asyncio.Event()
    body = json.dumps(ask()).encode()
    incoming: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    incoming.put_nowait({"type": "http.request", "body": body})

    async def send(message: dict[str, Any]) -> None:
        pass

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v1/infer",
        "raw_path": b"/v1/infer",
        "query_string": b"",
        "headers": [(k.encode(), v.encode()) for k, v in node.http.headers.items()],
        "server": ("a", 80),
        "client": ("test", 1),
        "scheme": "http",
        "http_version": "1.1",
        "root_path": "",
    }
    request = asyncio.create_task(node.app(scope, incoming.get, send))
    while not node.executor.runs:
        await asyncio.sleep(0)
    incoming.put_nowait({"type": "http.disconnect"})
    await asyncio.wait_for(request, 10)
    assert node.executor.cancelled == 1
    await asyncio.wait_for(node.actor.dataplane.idle(), 1)


async def test_a_crash_of_the_executor_is_said_and_the_next_request_runs(node: Node) -> None:
    node.executor.fail = ClusterError("E504", device="cpu:0", model="m", reason="SIGSEGV")
    crashed = await node.http.post("/v1/infer", json=ask(target="llvm"))
    assert (crashed.status_code, crashed.json()["code"]) == (500, "RLX-E504")
    assert (await node.http.get("/v2/health/live")).status_code == 200
    node.executor.fail = None
    assert (await node.http.post("/v1/infer", json=ask())).status_code == 200


async def test_a_full_device_sheds_load(node: Node) -> None:
    node.executor.fail = RequestError("E424", device="cpu:0", waiting=64)
    full = await node.http.post("/v1/infer", json=ask(target="c"))
    assert full.status_code == 503
    assert "retry-after" in full.headers


async def test_measured_times_and_statistics_follow_the_requests(node: Node) -> None:
    assert {m.run_us for m in node.actor.holdings.loaded()} == {2_000}  # the warm run
    for _ in range(40):
        await node.http.post("/v1/infer", json=ask(target="c"))
    by_target = {m.target: m.run_us for m in node.actor.holdings.loaded()}
    assert by_target == {"c": 3, "llvm": 2_000}
    node.executor.fail = RequestError("E424", device="cpu:0", waiting=64)
    await node.http.post("/v1/infer", json=ask(target="c"))
    (stats,) = (await node.http.get("/v2/models/m/stats")).json()["model_stats"]
    assert stats["inference_count"] == 40
    assert stats["inference_stats"]["compute_infer"] == {"count": 40, "ns": 120_000}
    assert stats["inference_stats"]["fail"]["count"] == 1


async def test_a_run_that_is_to_be_profiled_is_answered_with_its_kernels_and_the_roofs(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = []

    def measure(threads: int) -> Peak:
        measured.append(threads)
        return Peak(threads, gflops=100.0, gbytes_per_s=10.0)

    monkeypatch.setattr(node.actor.dataplane, "_peaks", Peaks(measure))
    assert "profile" not in (await node.http.post("/v1/infer", json=ask())).json()
    traces = [(await node.http.post("/v1/infer", json=ask(profile=True))).json()["profile"] for _ in range(2)]
    for trace in traces:
        [event] = [event for event in trace["traceEvents"] if event["ph"] == "X"]
        assert (event["name"], event["dur"]) == ("k", 3.0)
        assert trace["otherData"]["peak"] == {"threads": 1, "gflops": 100.0, "gbytes_per_s": 10.0}
    assert measured == [1], "the roofs are measured once"


async def test_what_a_profile_costs_is_told_apart_from_the_way(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(threads: int) -> Peak:
        time.sleep(0.2)
        return Peak(threads, gflops=1.0, gbytes_per_s=1.0)

    monkeypatch.setattr(node.actor.dataplane, "_peaks", Peaks(measure))
    times = (await node.http.post("/v1/infer", json=ask(profile=True))).json()["timings"]
    assert times["profile_ns"] >= 200_000_000
    assert sum(value for name, value in times.items() if name != "total_ns") == times["total_ns"]
    again = (await node.http.post("/v1/infer", json=ask(profile=True))).json()["timings"]
    assert again["profile_ns"] < 100_000_000


async def test_a_node_that_cannot_measure_its_roofs_still_profiles(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(threads: int) -> Peak:
        raise OSError("no process")

    monkeypatch.setattr(node.actor.dataplane, "_peaks", Peaks(fail))
    trace = (await node.http.post("/v1/infer", json=ask(profile=True))).json()["profile"]
    assert "peak" not in trace["otherData"]
