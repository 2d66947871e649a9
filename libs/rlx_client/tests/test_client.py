"""Both clients, which must do the same: what they ask, what they raise, and whom they ask next."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from rlx_base.errors import ArtifactError, ClusterError, RequestError, VerifyError
from rlx_client import AsyncRLXClient, RLXClient, Timeouts
from rlx_client.endpoints import Endpoints
from rlx_wire.api import Job, JobEvent
from rlx_wire.bundle import pack_bundle, write_bundle
from rlx_wire.inference import Decision, InferResponse, Timings
from rlx_wire.manifest import Manifest
from rlx_wire.problem import Problem
from rlx_wire.tensors import Tensor

Handler = Callable[[httpx.Request], httpx.Response]
NOW = "2026-01-01T00:00:00Z"
DIGEST = "0" * 64


class Asked:
    """A client of either kind over a handler; every method is awaited, whichever kind it is."""

    def __init__(self, kind: str, handler: Handler, **arguments: Any) -> None:
        self.requests: list[httpx.Request] = []

        def record(request: httpx.Request) -> httpx.Response:
            request.read()
            self.requests.append(request)
            return handler(request)

        transport = httpx.MockTransport(record)
        make = RLXClient if kind == "sync" else AsyncRLXClient
        arguments = {"endpoints": ["http://one"]} | arguments
        self.client: Any = make(**arguments, transport=transport)

    def __getattr__(self, name: str) -> Any:
        async def method(*arguments: Any, **more: Any) -> Any:
            result = getattr(self.client, name)(*arguments, **more)
            if inspect.isasyncgen(result):
                return [item async for item in result]
            if inspect.isgenerator(result):
                return list(result)
            return await result if inspect.isawaitable(result) else result

        return method

    @property
    def hosts(self) -> list[str]:
        return [request.url.host for request in self.requests]


@pytest.fixture(params=["sync", "async"])
def ask(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr("rlx_client.client._LOOK_AGAIN_S", 0.001)
    monkeypatch.setattr("rlx_client.async_client._LOOK_AGAIN_S", 0.001)
    clients: list[Asked] = []

    def make(handler: Handler, **arguments: Any) -> Asked:
        clients.append(Asked(request.param, handler, **arguments))
        return clients[-1]

    yield make
    for each in clients:
        closing = each.client.close()
        if inspect.isawaitable(closing):
            asyncio.run(closing)


def answer(model: Any, status: int = 200) -> httpx.Response:
    return httpx.Response(status, content=model.model_dump_json())


def refusal(error: Any) -> httpx.Response:
    return httpx.Response(error.status, content=Problem.of(error).body())


def inferred(request: httpx.Request) -> httpx.Response:
    """y = 2x, in the form of the question."""
    asked = json.loads(request.content)
    x = Tensor.model_validate(asked["inputs"]["x"]).array("x")
    return answer(
        InferResponse(
            model=asked["model"],
            version=asked.get("version", "1"),
            target=asked.get("target", "llvm"),
            node="a",
            device="cpu:0",
            outputs={"y": Tensor.encode(x * x.dtype.type(2))},
            timings=Timings(total_ns=5, compute_ns=5),
            decision=Decision(request_id="r", view_version=1),
        )
    )


def job(state: str = "succeeded") -> Job:
    return Job.model_validate(
        {
            "id": "j",
            "state": state,
            "model": "m",
            "version": 1,
            "program_digest": DIGEST,
            "options": {},
            "tasks": [],
            "created_at": NOW,
        }
    )


def stream(*ids: int) -> httpx.Response:
    events = [JobEvent(id=i, kind="job", at=NOW, state="running") for i in ids]  # type: ignore[arg-type]
    text = "".join(f"id: {e.id}\nevent: {e.kind}\ndata: {e.model_dump_json()}\n\n: ping\n\n" for e in events)
    return httpx.Response(200, content=text + "event: future\ndata: {}\n\n")


def test_both_clients_have_the_same_methods_with_the_same_parameters() -> None:
    def methods(kind: type) -> dict[str, list[str]]:
        named = inspect.getmembers(kind, inspect.isfunction)
        return {n: list(inspect.signature(f).parameters) for n, f in named if not n.startswith("__")}

    assert methods(RLXClient) == methods(AsyncRLXClient)


async def test_a_client_closes_with_its_block() -> None:
    with RLXClient(transport=httpx.MockTransport(inferred)) as waiting:
        waiting.infer("m", {"x": 1.0})
    async with AsyncRLXClient(transport=httpx.MockTransport(inferred)) as awaiting:
        await awaiting.infer("m", {"x": 1.0})
    for client in (waiting, awaiting):
        assert client._http.is_closed


# ── inference ────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (np.ones((2, 3), np.float64), "float64"),
        (np.float16(1), "float16"),
        (1.5, "float32"),
        ([1.5, 2.5], "float32"),
        (3, "int64"),
        (np.arange(6).reshape(2, 3).T, "int64"),
    ],
)
async def test_tensors_and_scalars_go_and_come_back(ask: Any, value: Any, dtype: str) -> None:
    client = ask(inferred)
    result = await client.infer(
        "m", {"x": value}, version=3, target="c", schedule_hint={"preferred_devices": ["cpu:0"]}
    )
    np.testing.assert_array_equal(result.outputs["y"], np.asarray(value) * 2)
    assert result.outputs["y"].dtype == dtype
    assert (result.version, result.target, result.node, result.device) == ("3", "c", "a", "cpu:0")
    sent = json.loads(client.requests[0].content)
    assert sent["schedule_hint"]["preferred_devices"] == ["cpu:0"]
    assert client.requests[0].headers["rlx-timeout-ms"] == "30000"


async def test_what_is_no_tensor_is_refused_before_it_is_sent(ask: Any) -> None:
    client = ask(inferred)
    with pytest.raises(TypeError, match="'x'"):
        await client.infer("m", {"x": "text"})
    assert client.requests == []


async def test_a_model_that_is_not_loaded_yet_is_waited_for(ask: Any) -> None:
    refusals = iter([RequestError("E414", model="m", why="it is being loaded")] * 3)

    def soon(request: httpx.Request) -> httpx.Response:
        error = next(refusals, None)
        return inferred(request) if error is None else refusal(error)

    client = ask(soon)
    assert (await client.infer("m", {"x": 1.0}, wait=30)).outputs["y"] == 2
    assert len(client.requests) == 4
    with pytest.raises(RequestError, match="E414"):
        await ask(lambda _: refusal(RequestError("E414", model="m", why="no"))).infer("m", {"x": 1.0})


# ── errors and failover ──────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "error",
    [
        RequestError("E412", model="m"),
        ClusterError("E501", node="a", incarnation=1),
        ArtifactError("E303", expected="a", found="b"),
    ],
)
async def test_a_refusal_is_raised_as_the_service_raised_it(ask: Any, error: Any) -> None:
    with pytest.raises(type(error)) as caught:
        await ask(lambda _: refusal(error)).infer("m", {"x": 1.0})
    assert (caught.value.code, caught.value.message, caught.value.help) == (error.code, error.message, error.help)
    assert caught.value.render() == error.render()


async def test_a_fault_in_a_program_keeps_its_place(ask: Any, tmp_path: Path) -> None:
    problem = Problem(
        title="VerifyError", status=422, detail="wrong", code="RLX-E113", file="m.rlx", line=3, column=7, end_column=9
    )
    (tmp_path / "m.rlx").touch()
    with pytest.raises(VerifyError) as caught:
        await ask(lambda _: answer(problem, 422)).upload("m", tmp_path / "m.rlx")
    at = caught.value.at
    assert at is not None
    assert (at.file, at.line, at.column, at.end_column) == ("m.rlx", 3, 7, 9)


async def test_an_answer_of_something_else_says_so(ask: Any) -> None:
    with pytest.raises(ClusterError, match=r"E513.*http://one.*500"):
        await ask(lambda _: httpx.Response(500, text="<html>")).models()


def refuse(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("All connection attempts failed", request=request)


async def test_calls_go_round_and_pass_over_who_is_gone(ask: Any) -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        return refuse(request) if request.url.host == "two" else inferred(request)

    client = ask(handler, endpoints=["http://one", "http://two/", "http://three"])
    for _ in range(6):
        assert (await client.infer("m", {"x": 1.0})).outputs["y"] == 2
    assert client.hosts.count("two") == 1  # asked once, then passed over for a while
    assert min(client.hosts.count("one"), client.hosts.count("three")) >= 2


async def test_who_is_overloaded_is_passed_over_for_this_call(ask: Any) -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        busy = RequestError("E416", why="full")
        return refusal(busy) if request.url.host == "one" else inferred(request)

    client = ask(handler, endpoints=["http://one", "http://two"])
    await client.infer("m", {"x": 1.0})
    assert client.hosts == ["one", "two"]


async def test_when_nobody_answers_the_address_is_named(ask: Any) -> None:
    client = ask(refuse, endpoints=["http://one", "http://two"])
    with pytest.raises(ClusterError, match=r"E513.*cannot be reached at http://two"):
        await client.infer("m", {"x": 1.0})
    assert client.hosts == ["one", "two"]
    assert await client.live() is False
    assert await client.ready() is False


@pytest.mark.parametrize(
    ("late", "phase", "asked"),
    [(httpx.ConnectTimeout, "connect", 2), (httpx.WriteTimeout, "transfer", 1), (httpx.ReadTimeout, "compute", 1)],
)
async def test_what_was_late_is_named_and_only_a_connection_is_tried_elsewhere(
    ask: Any, late: type[httpx.TimeoutException], phase: str, asked: int
) -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        raise late("late", request=request)

    timeouts = Timeouts(connect=1, transfer=2, compute=3)
    client = ask(handler, endpoints=["http://one", "http://two"], timeout=timeouts)
    with pytest.raises(RequestError, match=f"deadline exceeded: {phase} took longer than {getattr(timeouts, phase)} s"):
        await client.infer("m", {"x": 1.0})
    assert len(client.requests) == asked
    assert client.requests[0].extensions["timeout"] == {"connect": 1, "read": 3.5, "write": 2, "pool": 2}


async def test_endpoint_and_key_come_from_the_environment(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RLX_ENDPOINT", "http://a, http://b")
    monkeypatch.setenv("RLX_API_KEY", "secret")
    client = ask(inferred, endpoints=[], timeout=2)
    for _ in range(2):
        await client.infer("m", {"x": 1.0})
    assert client.hosts == ["a", "b"]
    assert client.requests[0].headers["authorization"] == "Bearer secret"
    assert client.requests[0].headers["rlx-timeout-ms"] == "2000"


def test_an_endpoint_that_rests_is_asked_last_and_comes_back() -> None:
    now = 0.0
    endpoints = Endpoints(["a", "b"], lambda: now)
    endpoints.failed("a")
    assert [endpoints.order()[0] for _ in range(3)] == ["b", "b", "b"]
    now = 6.0
    assert {endpoints.order()[0] for _ in range(2)} == {"a", "b"}
    endpoints.failed("b")
    endpoints.worked("b")
    assert {endpoints.order()[0] for _ in range(2)} == {"a", "b"}
    with pytest.raises(ValueError, match="at least one"):
        Endpoints([])


# ── models, jobs, deployments ────────────────────────────────────────────────


async def test_an_upload_carries_the_text_and_its_weights_and_can_be_repeated(ask: Any, tmp_path: Path) -> None:
    model, weights = tmp_path / "m.rlx", tmp_path / "w.safetensors"
    model.write_text("the program")
    weights.write_bytes(b"the weights")

    def handler(request: httpx.Request) -> httpx.Response:
        if request.url.host == "one":
            return httpx.Response(503)
        version = {
            "model": "m",
            "version": 1,
            "module": "M",
            "program_digest": DIGEST,
            "meaning_digest": DIGEST,
            "inputs": [],
            "outputs": [],
            "source": [],
            "created_at": NOW,
        }
        return httpx.Response(201, json=version)

    client = ask(handler, endpoints=["http://one", "http://two"])
    assert (await client.upload("m", model, weights)).version == 1
    for request in client.requests:
        assert b'name="model"; filename="m.rlx"' in request.content
        assert b'name="weights"; filename="w.safetensors"' in request.content
        assert b"the program" in request.content
        assert b"the weights" in request.content


async def test_what_the_methods_ask(ask: Any) -> None:
    page = {"items": [], "next": None}
    deployment = {
        "name": "m",
        "model": "m",
        "version": 1,
        "program_digest": DIGEST,
        "targets": ["c"],
        "replicas": 0,
        "node_selector": {},
        "artifacts": [],
        "created_at": NOW,
        "updated_at": NOW,
    }

    def handler(request: httpx.Request) -> httpx.Response:
        match request.method, request.url.path.split("/")[2:]:
            case "POST", ["compile"] | ["jobs", _, "cancel"]:
                return answer(job("queued"))
            case "GET", ["jobs", _]:
                return answer(job())
            case "PUT", ["deployments", _]:
                return httpx.Response(200, json=deployment)
            case "GET", ["deployments"]:
                return httpx.Response(200, json={"version": 3, "items": [deployment]})
            case "GET", ["nodes"]:
                return httpx.Response(200, json={"version": 1, "epoch": "e", "nodes": []})
            case "DELETE", _:
                return httpx.Response(204)
            case "GET", ["health", _]:
                return httpx.Response(200)
        return httpx.Response(200, json=page)

    client = ask(handler)
    assert (await client.compile("m", ["llvm", "c"], version=2, opt_level=1)).state == "queued"
    asked = json.loads(client.requests[0].content)
    assert (asked["model"], asked["version"], asked["targets"]) == ("m", 2, ["llvm", "c"])
    assert asked["options"]["opt_level"] == 1
    assert (await client.job("j")).state == "succeeded"
    assert (await client.cancel(job())).id == "j"
    assert (await client.deploy("m", ["c"], replicas=2)).name == "m"
    assert json.loads(client.requests[3].content)["replicas"] == 2
    assert len(await client.deployments()) == 1
    await client.undeploy("m")
    assert (await client.nodes()).version == 1
    for listed in (
        await client.models(),
        await client.versions("m"),
        await client.jobs(state="failed"),
        await client.artifacts(target="c"),
    ):
        assert listed.items == ()
    assert dict(client.requests[-2].url.params) == {"limit": "50", "state": "failed"}
    assert await client.live()
    assert await client.ready()


async def test_what_a_model_takes_and_gives(ask: Any) -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        tensor = {"name": "x", "datatype": "FP32", "shape": [-1, 3]}
        return httpx.Response(200, json={"name": "m", "versions": ["1"], "inputs": [tensor], "outputs": [tensor]})

    client = ask(handler)
    signature = await client.metadata("m", 1)
    assert client.requests[0].url.path == "/v2/models/m/versions/1"
    (x,) = signature.inputs
    assert (x.name, x.dtype, x.shape) == ("x", "float32", ("dim0", 3))
    assert signature.versions == ("1",)


async def test_waiting_follows_the_events_and_takes_up_a_broken_stream(ask: Any) -> None:
    states = iter(["running", "running", "succeeded"])

    def handler(request: httpx.Request) -> httpx.Response:
        if not request.url.path.endswith("/events"):
            return answer(job(next(states)))
        after = int(request.headers["last-event-id"])
        if after == 2:
            return refuse(request)
        return stream(after + 1, after + 2) if after < 4 else httpx.Response(204)

    client = ask(handler)
    heard: list[int] = []
    # The stream ends after two events, then cannot be had, then goes on where it was.
    waiting = client.wait("j", on_event=lambda event: heard.append(event.id))
    assert (await waiting).state == "succeeded"
    assert heard == [1, 2]
    assert [r.headers.get("last-event-id") for r in client.requests] == ["0", None, "2", None, "2", None]


async def test_waiting_for_what_is_not_there_ends_at_once(ask: Any) -> None:
    unknown = RequestError("E430", what="job j", hint="look at the jobs")
    with pytest.raises(RequestError, match="E430"):
        await ask(lambda _: refusal(unknown)).wait("j")


async def test_waiting_ends_when_its_time_is_over(ask: Any) -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        return stream(1) if request.url.path.endswith("/events") else answer(job("running"))

    with pytest.raises(TimeoutError, match="job j is running after 0"):
        await ask(handler).wait(job("running"), timeout=0.0)


async def test_the_events_of_a_job_without_pings_and_without_what_is_newer(ask: Any) -> None:
    events = await ask(lambda _: stream(1, 2)).events("j")
    assert [event.id for event in events] == [1, 2]


# ── artifacts ────────────────────────────────────────────────────────────────


@pytest.fixture
def archive(tmp_path: Path) -> tuple[str, bytes]:
    manifest = Manifest(
        compiler_version="0",
        target="c",
        cpu="x86-64",
        cpu_features=(),
        opt_level=0,
        program_digest=DIGEST,
        meaning_digest=DIGEST,
        model="m",
        inputs=(),
        outputs=(),
        workspace_bytes=0,
        weights_bytes=0,
        kernels=(),
        launch_plan=(),
    )
    digest = write_bundle(tmp_path / "made", manifest, {"kernel.c": b"int x;"})
    return digest, pack_bundle(tmp_path / "made")


async def test_a_bundle_is_fetched_whole_and_verified(ask: Any, archive: tuple[str, bytes], tmp_path: Path) -> None:
    digest, content = archive

    def handler(request: httpx.Request) -> httpx.Response:
        return refuse(request) if request.url.host == "one" else httpx.Response(200, content=content)

    client = ask(handler, endpoints=["http://one", "http://two"])
    assert (await client.download(digest, tmp_path / "got")).target == "c"
    assert (tmp_path / "got" / "kernel.c").read_bytes() == b"int x;"
    wrong = ask(lambda _: httpx.Response(200, content=content.replace(b"int x", b"int y")))
    with pytest.raises(ArtifactError, match="artifact rejected"):
        await wrong.download(digest, tmp_path / "wrong")
    assert not (tmp_path / "wrong").exists()
    missing = ask(lambda _: refusal(RequestError("E430", what="artifact", hint="")))
    with pytest.raises(RequestError, match="E430"):
        await missing.download(digest, tmp_path / "missing")


# ── keys, and how often ──────────────────────────────────────────────────────


async def test_keys_are_made_listed_and_revoked(ask: Any) -> None:
    key = {"id": "key-1", "name": "ci", "scopes": ["read"], "created_at": NOW}

    def keys(request: httpx.Request) -> httpx.Response:
        match request.method:
            case "POST":
                assert json.loads(request.content) == {"name": "ci", "scopes": ["read"]}
                return httpx.Response(201, json={**key, "key": "rlx_1_2"})
            case "GET":
                return httpx.Response(200, json={"items": [key], "next": None})
            case _:
                return httpx.Response(204)

    client = ask(keys)
    made = await client.create_key("ci", ["read", "read"])
    assert made.key == "rlx_1_2"
    assert [each.id for each in (await client.keys()).items] == ["key-1"]
    await client.revoke_key(made)
    await client.revoke_key("key-2")
    assert [request.url.path for request in client.requests[2:]] == ["/v1/keys/key-1", "/v1/keys/key-2"]


async def test_a_client_that_is_told_to_come_again_does(ask: Any) -> None:
    tries = iter([refusal(RequestError("E441", rate=1, seconds=1))])
    client = ask(lambda request: next(tries, None) or inferred(request))
    assert (await client.infer("m", {"x": [1.0]}, wait=5)).outputs["y"].tolist() == [2.0]
    assert len(client.requests) == 2
