"""What each service says of itself: the committed description is the code's, and no route is open by mistake."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import httpx
import pytest

import rlx_compile_api.openapi
import rlx_gss.openapi
import rlx_node.openapi
from rlx_node.app import create_actor, create_app
from rlx_scheduler.main import SchedulerSettings
from tests.support.services import KEY, Services, services

ROOT = Path(__file__).parents[2]
DESCRIPTIONS = {
    "compile_api": (rlx_compile_api.openapi, ROOT / "services/compile-api/openapi.json"),
    "node": (rlx_node.openapi, ROOT / "libs/rlx_node/openapi.json"),
    "gss": (rlx_gss.openapi, ROOT / "services/gss/openapi.json"),
}
OPEN = re.compile(r"/v[12]/health/(live|ready)")


@pytest.mark.parametrize("service", DESCRIPTIONS)
def test_the_committed_description_is_that_of_the_code(service: str) -> None:
    """After a change of a route or a schema: `make openapi`."""
    module, committed = DESCRIPTIONS[service]
    with redirect_stdout(StringIO()) as printed:
        module.main()
    assert committed.read_text() == printed.getvalue(), "run `make openapi` and commit what it writes"


def described(service: str) -> dict[str, Any]:
    return dict(json.loads(DESCRIPTIONS[service][1].read_text()))


def test_the_scheduler_answers_what_a_node_answers(tmp_path: Path) -> None:
    settings = SchedulerSettings(data_folder=tmp_path, cluster={"mode": "standalone"})
    assert create_app(create_actor(settings, kinds=())).openapi()["paths"] == described("node")["paths"]


@pytest.mark.parametrize("service", DESCRIPTIONS)
def test_every_refusal_is_described_as_a_problem(service: str) -> None:
    for path, item in described(service)["paths"].items():
        for method, operation in item.items():
            assert "application/problem+json" in operation["responses"]["default"]["content"], (method, path)
            assert not {"422", "4XX", "400"} & set(operation["responses"]), (method, path)


@pytest.mark.parametrize("service", ["compile_api", "gss"])
def test_every_list_comes_in_pages(service: str) -> None:
    lists = ["/v1/nodes"] if service == "gss" else ["/v1/deployments", "/v1/jobs", "/v1/keys", "/v1/models"]
    lists += [] if service == "gss" else ["/v1/artifacts", "/v1/profiles", "/v1/models/{name}/versions", "/v1/nodes"]
    for path in lists:
        parameters = {each["name"] for each in described(service)["paths"][path]["get"]["parameters"]}
        assert {"cursor", "limit"} <= parameters, path


# ── strangers ────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    with services(tmp_path_factory.mktemp("services")) as started:
        yield started


@pytest.mark.parametrize("service", DESCRIPTIONS)
@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer wrong"}, {"X-API-Key": KEY[:-1]}])
def test_a_stranger_gets_401_from_every_route_but_health(
    running: Services, service: str, headers: dict[str, str]
) -> None:
    asked = 0
    with httpx.Client(base_url=getattr(running, service), headers=headers) as http:
        routes = [(method.upper(), path) for path, item in described(service)["paths"].items() for method in item]
        unknown = [("GET", "/v1/nothing"), ("DELETE", "/v1/jobs"), ("GET", "/docs"), ("GET", "/openapi.json")]
        passed_on = [("GET", "/v2"), ("GET", "/v2/models/m"), ("POST", "/v2/models/m/infer")]
        for method, path in [*routes, *unknown, *passed_on]:
            answer = http.request(method, re.sub(r"\{\w+\}", "0", path), content=b"{", headers={"Origin": "null"})
            if OPEN.fullmatch(path):
                assert answer.status_code == 200, path
            elif (method, path) == ("POST", "/v1/session"):
                assert answer.status_code == 422, "the way to trade a key for a cookie"
            else:
                assert (answer.status_code, answer.json()["code"]) == (401, "RLX-E418"), (method, path)
                assert answer.headers["www-authenticate"] == "Bearer"
                asked += 1
    assert asked > 9


@pytest.mark.parametrize("service", DESCRIPTIONS)
def test_unknown_routes_and_methods_are_problems(running: Services, service: str) -> None:
    with httpx.Client(base_url=getattr(running, service), headers={"Authorization": f"Bearer {KEY}"}) as http:
        for method, path, status in (("GET", "/v1/nothing", 404), ("PATCH", "/v1/nodes", 405)):
            answer = http.request(method, path)
            assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
        allowed = http.request("PATCH", "/v1/nodes").headers["allow"]
        assert allowed == ("GET, POST" if service == "gss" else "GET")


def test_nodes_come_page_by_page(running: Services) -> None:
    headers = {"Authorization": f"Bearer {KEY}"}
    with httpx.Client(base_url=running.gss, headers=headers) as http:
        for name in ("b", "a"):
            node = {"id": name, "addresses": {"http": "http://x"}, "capabilities": {"cpu": "x86-64-v3"}}
            life = http.post("/v1/nodes", json=node).json()["incarnation"]
            http.put(f"/v1/nodes/{name}/status", json={"incarnation": life, "sequence": 1})
    with httpx.Client(base_url=running.compile_api, headers=headers) as http:
        seen, cursor = [], None
        for _ in range(4):
            params = {"limit": 1} | ({"cursor": cursor} if cursor else {})
            page = http.get("/v1/nodes", params=params).json()
            seen += [node["record"]["id"] for node in page["nodes"]]
            cursor = page["next"]
            if cursor is None:
                break
    assert seen == ["a", "b", "here"]
