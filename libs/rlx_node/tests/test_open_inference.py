"""The Open Inference Protocol v2 as its clients expect it."""

from __future__ import annotations

from typing import Any

import pytest

from rlx_wire.nodes import Device
from tests.support.nodes import Cluster, Node, deployment

X = {"name": "x", "shape": [1, 2], "datatype": "FP32", "data": [1, 2]}


async def infer(node: Node, **body: Any) -> Any:
    return await node.http.post("/v2/models/m/infer", json={"inputs": [X], **body})


async def test_an_inference_echoes_its_id_and_names_its_tensors(node: Node) -> None:
    answer = await infer(node, id="42", parameters={"target": "llvm"})
    assert answer.status_code == 200
    assert answer.json() == {
        "model_name": "m",
        "model_version": "1",
        "id": "42",
        "parameters": {"target": "llvm", "node": "a", "device": "cpu:0"},
        "outputs": [{"name": "y", "shape": [1, 2], "datatype": "FP32", "data": [2.0, 4.0]}],
    }
    assert "id" not in (await infer(node)).json()


async def test_nested_data_and_requested_outputs(node: Node) -> None:
    nested = {**X, "data": [[1, 2]]}
    asked = {"inputs": [nested], "outputs": [{"name": "y"}], "parameters": {"target": "c"}}
    answer = await node.http.post("/v2/models/m/infer", json=asked)
    assert answer.json()["outputs"][0]["data"] == [3.0, 6.0]
    wrong = await infer(node, outputs=[{"name": "z"}])
    assert (wrong.status_code, wrong.json()["code"]) == (400, "RLX-E426")
    assert "y" in wrong.json()["help"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"inputs": [{**X, "datatype": "FP99"}]}, 400),
        ({"inputs": [{**X, "datatype": "BYTES", "data": ["a", "b"]}]}, 400),
        ({"inputs": [{**X, "shape": [3]}]}, 400),
        ({"inputs": [X, X]}, 400),
        ({"inputs": [{**X, "shape": [-1]}]}, 400),
        ({}, 400),
    ],
)
async def test_a_bad_request_is_400_and_carries_error(node: Node, body: dict[str, Any], status: int) -> None:
    answer = await node.http.post("/v2/models/m/infer", json=body)
    assert answer.status_code == status
    assert answer.json()["error"]


async def test_a_timeout_beyond_every_float_is_no_limit(node: Node) -> None:
    assert (await infer(node, parameters={"timeout": 10**400})).status_code == 200


async def test_what_is_not_supported_is_501(node: Node) -> None:
    binary = await node.http.post("/v2/models/m/infer", content=b"", headers={"Inference-Header-Content-Length": "0"})
    assert binary.status_code == 501
    assert (await node.http.post("/v2/repository/models/m/load")).status_code == 501
    assert (await node.http.post("/v2/repository/models/m/unload")).status_code == 501


async def test_metadata(node: Node) -> None:
    server = (await node.http.get("/v2")).json()
    assert server["name"] == "rlx"
    assert "binary_tensor_data" not in server["extensions"]
    tensor = {"datatype": "FP32", "shape": [-1, 2]}
    for path in ("/v2/models/m", "/v2/models/m/versions/1"):
        assert (await node.http.get(path)).json() == {
            "name": "m",
            "versions": ["1"],
            "platform": "rlx",
            "inputs": [{"name": "x", **tensor}],
            "outputs": [{"name": "y", **tensor}],
        }
    config = (await node.http.get("/v2/models/m/config")).json()
    assert config["input"] == [{"name": "x", "data_type": "TYPE_FP32", "dims": [-1, 2]}]
    assert config["model_transaction_policy"] == {"decoupled": False}


async def test_a_model_is_ready_unknown_or_unknown_in_that_version(node: Node) -> None:
    assert (await node.http.get("/v2/models/m/ready")).json() == {"name": "m", "ready": True}
    assert (await node.http.get("/v2/models/m/versions/1/ready")).status_code == 200
    for path in ("/v2/models/m/versions/2/ready", "/v2/models/n/ready", "/v2/models/n", "/v2/models/n/stats"):
        missing = await node.http.get(path)
        assert missing.status_code == 404
        assert missing.json()["error"]


async def test_the_repository_lists_what_is_loaded_and_what_is_awaited(node: Node, cluster: Cluster) -> None:
    cluster.api.deploy(*cluster.api.items, deployment("n", 1, targets=("llvm",)))
    await node.deployed()
    assert (await node.http.post("/v2/repository/index")).json() == [
        {"name": "m", "version": "1", "state": "READY", "reason": ""},
        {
            "name": "n",
            "version": "1",
            "state": "UNAVAILABLE",
            "reason": "nothing has compiled version 1 for llvm",
        },
    ]


async def test_health_tells_whether_something_could_run(cluster: Cluster) -> None:
    gpu = Device(kind="opencl", index=0, name="found, runs nothing")
    cpu, scheduler, gpus = (
        cluster.join("cpu"),
        cluster.join("scheduler", devices=()),
        cluster.join("gpu", devices=(gpu,)),
    )

    async def ready() -> list[int]:
        return [(await n.http.get("/v2/health/ready")).status_code for n in (cpu, scheduler, gpus)]

    assert (await scheduler.http.get("/v2/health/live")).status_code == 200
    assert await ready() == [503, 503, 503]
    await cluster.start()
    assert await ready() == [200, 503, 503]
    cluster.introduce()
    assert await ready() == [200, 200, 200]
    cpu.actor.draining = True
    cluster.introduce()
    assert await ready() == [503, 503, 503]


async def test_with_a_key_all_but_health_asks_for_it(cluster: Cluster) -> None:
    node = cluster.join("a")
    assert (await node.http.get("/v2")).status_code == 200
    node.http.headers.pop("authorization")
    for method, path in (("GET", "/v2"), ("POST", "/v2/models/m/infer"), ("POST", "/v1/infer"), ("GET", "/v1/node")):
        refused = await node.http.request(method, path)
        assert refused.status_code == 401
        assert refused.json()["error"]
    assert (await node.http.get("/v2/health/live")).status_code == 200
    assert (await node.http.get("/v2/health/%2e%2e/models/m")).status_code == 401
