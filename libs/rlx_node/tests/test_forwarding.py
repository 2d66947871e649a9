"""A request runs on the best node, at most one hop away, and on the next one where that fails."""

from __future__ import annotations

import asyncio
import json
import math
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from rlx_base.errors import ClusterError, RequestError
from rlx_wire.tensors import Tensor
from tests.support.nodes import Cluster, Node, ask, bundle, deployment


@pytest.fixture
async def front(cluster: Cluster, tmp_path: Path) -> Node:
    """A scheduler in front of nodes `a` and `b`, which both serve `m` (y = 2x)."""
    front = cluster.join("front", devices=())
    a, b = cluster.join("a"), cluster.join("b")
    await cluster.start()
    there = bundle(tmp_path)
    cluster.api.deploy(deployment("m", 1, there), bundles=(there,))
    for node in (front, a, b):
        await node.deployed()
    cluster.introduce()
    return front


async def infer(node: Node, **headers: str) -> httpx.Response:
    return await node.http.post("/v1/infer", json=ask(), headers=headers)


async def test_the_scheduler_passes_requests_on_and_both_nodes_get_some(front: Node) -> None:
    answers = [(await infer(front)).json() for _ in range(20)]
    assert {answer["node"] for answer in answers} == {"a", "b"}
    for answer in answers:
        assert answer["outputs"]["y"]["data"] == [2.0, 4.0]
        times = answer["timings"]
        assert times["transfer_ns"] > 0
        assert sum(value for name, value in times.items() if name != "total_ns") == times["total_ns"]
        assert len(answer["decision"]["candidates"]) == 2


async def test_nan_and_infinity_pass_as_they_were_written(front: Node) -> None:
    body = json.dumps(ask([[math.nan, -math.inf]]))
    answer = await front.http.post("/v1/infer", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 200
    y = Tensor.model_validate(answer.json()["outputs"]["y"]).array("y")
    np.testing.assert_array_equal(y, np.array([[math.nan, -math.inf]], np.float32))


async def test_the_same_request_goes_the_same_way(front: Node) -> None:
    ways = {(await infer(front, **{"X-Request-Id": "one"})).json()["node"] for _ in range(5)}
    assert len(ways) == 1


async def test_a_node_runs_what_it_holds_itself(front: Node, cluster: Cluster) -> None:
    for name in ("a", "b"):
        assert (await infer(cluster.nodes[name])).json()["node"] == name


async def test_a_node_that_is_gone_or_full_is_replaced_by_the_next(front: Node, cluster: Cluster) -> None:
    cluster.network.cut.add("a")
    for i in range(10):
        answer = (await infer(front, **{"X-Request-Id": str(i)})).json()
        assert answer["node"] == "b"
    cluster.network.cut.clear()
    cluster.nodes["b"].executor.fail = RequestError("E424", device="cpu:0", waiting=64)
    answers = [(await infer(front, **{"X-Request-Id": str(i)})).json() for i in range(10)]
    assert {answer["node"] for answer in answers} == {"a"}
    tried = [attempt for answer in answers for attempt in answer["decision"]["attempts"]]
    assert any(attempt["node"] == "b" and "RLX-E424" in attempt["outcome"] for attempt in tried)


async def test_when_all_fail_the_last_reason_is_said(front: Node, cluster: Cluster) -> None:
    cluster.network.cut |= {"a", "b"}
    answer = await infer(front)
    assert (answer.status_code, answer.json()["code"]) == (502, "RLX-E503")


async def test_a_request_that_is_wrong_is_not_tried_again(front: Node, cluster: Cluster) -> None:
    for name in ("a", "b"):
        cluster.nodes[name].executor.fail = RequestError("E415", model="m", what="input x is missing", inputs="x")
    answer = await infer(front)
    assert (answer.status_code, answer.json()["code"]) == (400, "RLX-E415")
    assert "input x is missing" in answer.json()["detail"]
    assert sum(cluster.nodes[name].executor.runs for name in ("a", "b")) == 1


async def test_a_bundle_that_crashes_one_executor_is_not_let_loose_on_the_next(front: Node, cluster: Cluster) -> None:
    for name in ("a", "b"):
        cluster.nodes[name].executor.fail = ClusterError("E504", device="cpu:0", model="m", reason="SIGSEGV")
    answer = await infer(front)
    assert answer.json()["code"] == "RLX-E504"
    assert sum(cluster.nodes[name].executor.runs for name in ("a", "b")) == 1


async def test_a_forwarded_request_is_never_passed_on(front: Node, cluster: Cluster) -> None:
    refused = await infer(front, **{"RLX-Forwarded": "b"})
    assert (refused.status_code, refused.json()["code"]) == (503, "RLX-E416")
    assert sum(cluster.nodes[name].executor.runs for name in ("a", "b")) == 0


async def test_the_remaining_time_goes_with_the_request(front: Node, cluster: Cluster) -> None:
    for name in ("a", "b"):
        cluster.nodes[name].executor.gate = asyncio.Event()
    answer = await infer(front, **{"RLX-Timeout-Ms": "50"})
    assert (answer.status_code, answer.json()["code"]) == (504, "RLX-E417")
    assert "compute" in answer.json()["detail"]  # the node itself says in which phase


async def test_metadata_is_asked_of_a_node_that_has_the_model(front: Node) -> None:
    assert (await front.http.get("/v2/models/m")).json()["inputs"][0]["shape"] == [-1, 2]
    assert (await front.http.get("/v2/models/m/config")).json()["name"] == "m"
    assert (await front.http.get("/v2/models/m/ready")).status_code == 200
    looping = await front.http.get("/v2/models/m", headers={"RLX-Forwarded": "a"})
    assert looping.json()["code"] == "RLX-E414"


async def test_a_node_that_drains_gets_nothing_new_and_its_callers_are_served_elsewhere(
    front: Node, cluster: Cluster
) -> None:
    a = cluster.nodes["a"]
    a.actor.draining = True
    refused = await infer(a, **{"RLX-Forwarded": "front"})
    assert refused.status_code == 503
    # The scheduler has not heard of it yet: the node's refusal sends it on.
    assert {(await infer(front, **{"X-Request-Id": str(i)})).json()["node"] for i in range(8)} == {"b"}
    cluster.introduce()
    answers = [(await infer(front, **{"X-Request-Id": str(i)})).json() for i in range(8)]
    assert all(len(answer["decision"]["candidates"]) == 1 for answer in answers)
    assert (await infer(a)).json()["node"] == "b"


async def test_draining_waits_for_the_requests_that_run(node: Node) -> None:
    node.executor.gate = asyncio.Event()
    running = asyncio.create_task(infer(node))
    while not node.executor.runs:
        await asyncio.sleep(0)
    draining = asyncio.create_task(node.actor.drain())
    while not node.actor.draining:
        await asyncio.sleep(0)
    assert (await node.http.get("/v2/health/ready")).status_code == 503
    assert not draining.done()
    node.executor.gate.set()
    assert (await running).status_code == 200
    await asyncio.wait_for(draining, 5)


async def test_an_answer_that_is_none_sends_the_request_on(front: Node, cluster: Cluster) -> None:
    strange: Any = httpx.MockTransport(lambda _: httpx.Response(200, text="<html>"))
    cluster.network.hosts["a"] = strange
    assert {(await infer(front, **{"X-Request-Id": str(i)})).json()["node"] for i in range(8)} == {"b"}
    cluster.network.hosts["a"] = httpx.MockTransport(lambda _: httpx.Response(502, text="<html>"))
    assert {(await infer(front, **{"X-Request-Id": str(i)})).json()["node"] for i in range(8)} == {"b"}


async def test_every_node_shows_itself_and_those_it_knows(front: Node) -> None:
    me = (await front.http.get("/v1/node")).json()
    assert (me["id"], me["devices"]) == ("front", [])
    known = (await front.http.get("/v1/nodes")).json()["nodes"]
    assert [node["record"]["id"] for node in known] == ["a", "b", "front"]
