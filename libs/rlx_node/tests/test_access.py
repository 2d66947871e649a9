"""A node takes the keys that compile-api has made: it asks what they open, and keeps the answer for a moment."""

from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from starlette.testclient import TestClient

from rlx_base.errors import ClusterError
from rlx_node.access import KEPT_SECONDS, AskedKeys
from rlx_node.actor import Actor
from rlx_node.app import create_app
from rlx_node.settings import NodeSettings
from tests.support.nodes import CPU, V3, ScriptedExecutor, bundle, replica

OURS = "correct horse battery staple"


def key_of(letter: str) -> str:
    return f"rlx_{letter * 24}_{letter * 64}"


SCOPES = {key_of("a"): ["infer"], key_of("b"): ["read"], key_of("c"): ["worker"], key_of("d"): ["admin"]}


class Api:
    """compile-api, as far as keys go."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.fails: Callable[[], httpx.Response] | None = None

    def __call__(self, request: httpx.Request) -> httpx.Response:
        key = request.headers["authorization"].removeprefix("Bearer ")
        if request.url.path != "/v1/session":
            return httpx.Response(404)
        self.asked.append(key)
        if self.fails is not None:
            return self.fails()
        if key not in SCOPES:
            return httpx.Response(401)
        return httpx.Response(200, json={"id": "key-1", "scopes": SCOPES[key]})


@pytest.fixture
def api() -> Api:
    return Api()


@pytest.fixture
def node(api: Api, tmp_path: Path):
    settings = NodeSettings.model_validate(
        {"node": "here", "api_key": OURS, "data_folder": tmp_path / "node", "cluster": {"api": "http://api"}}
    )
    executor, small = ScriptedExecutor(), bundle(tmp_path)
    http = httpx.AsyncClient(transport=httpx.MockTransport(api))
    actor = Actor(settings, (CPU,), V3, {executor.device: executor}, http, local={replica("m", "1", small): small})
    with TestClient(create_app(actor)) as client:
        yield client


@pytest.mark.parametrize(
    ("letter", "opens", "refuses"),
    [
        ("a", [("POST", "/v1/infer"), ("GET", "/v2"), ("POST", "/v2/models/m/infer")], [("GET", "/v1/nodes")]),
        ("b", [("GET", "/v1/nodes"), ("GET", "/v1/node"), ("GET", "/v2/models/m")], [("POST", "/v1/infer")]),
        ("c", [("GET", "/v1/nodes")], [("POST", "/v1/infer"), ("GET", "/v2/models/m")]),
        ("d", [("POST", "/v1/infer"), ("GET", "/v1/nodes"), ("GET", "/nothing")], []),
    ],
)
def test_a_key_opens_what_its_scope_says(
    node: TestClient, letter: str, opens: list[tuple[str, str]], refuses: list[tuple[str, str]]
) -> None:
    for headers in ({"X-API-Key": key_of(letter)}, {"Authorization": f"Bearer {key_of(letter)}"}):
        for method, path in opens:
            assert node.request(method, path, headers=headers).status_code not in {401, 403}, (method, path)
        for method, path in refuses:
            answer = node.request(method, path, headers=headers)
            assert (answer.status_code, answer.json()["code"]) == (403, "RLX-E440"), (method, path)


def test_only_what_can_be_a_key_is_asked_for(node: TestClient, api: Api) -> None:
    asked = len(api.asked)
    for wrong in ("", "rlx_", OURS[:-1], key_of("a") + "0", key_of("g")):
        assert node.get("/v2", headers={"X-API-Key": wrong}).status_code == 401
    assert node.get("/v2", headers={"Authorization": f"Bearer {OURS}"}).status_code == 200
    assert api.asked[asked:] == []
    assert node.get("/v2", headers={"X-API-Key": key_of("e")}).status_code == 401
    assert key_of("e") in api.asked


def test_a_node_that_cannot_ask_says_so(node: TestClient, api: Api) -> None:
    api.fails = lambda: httpx.Response(500)
    answer = node.get("/v2", headers={"X-API-Key": key_of("a")})
    assert (answer.status_code, answer.json()["code"]) == (503, "RLX-E506")
    assert node.get("/v2", headers={"X-API-Key": OURS}).status_code == 200


async def test_an_answer_counts_for_ten_seconds(api: Api) -> None:
    now = 0.0
    keys = AskedKeys("http://api/", httpx.AsyncClient(transport=httpx.MockTransport(api)), lambda: now)
    for _ in range(3):
        assert await keys(key_of("a")) == {"infer"}
        assert await keys(key_of("e")) is None
    assert len(api.asked) == 2
    now = KEPT_SECONDS
    api.fails = lambda: httpx.Response(401)
    assert await keys(key_of("a")) is None  # it was revoked meanwhile


async def test_strangers_do_not_fill_the_memory(api: Api) -> None:
    keys = AskedKeys("http://api", httpx.AsyncClient(transport=httpx.MockTransport(api)), lambda: 0.0)
    for number in range(1030):
        assert await keys(f"rlx_{number:024x}_{number:064x}") is None
    assert len(keys._kept) == 1024


async def test_no_api_is_no_answer() -> None:
    def refuse(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    keys = AskedKeys("http://api", httpx.AsyncClient(transport=httpx.MockTransport(refuse)), lambda: 0.0)
    with pytest.raises(ClusterError, match="compile-api at http://api cannot be reached: refused"):
        await keys(key_of("a"))
