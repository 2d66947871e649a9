"""Without the key nobody gets anywhere but to health and the static files; bodies end at their limit."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from rlx_compile_api.app import page_in
from rlx_compile_api.sessions import COOKIE, Sessions
from tests.support.compile_api import Api, problem

KEY = "correct horse battery staple"
OPEN = {"/v1/health/live", "/v1/health/ready"}


@pytest.fixture
def web(tmp_path: Path) -> Path:
    folder = tmp_path / "web"
    folder.mkdir()
    (folder / "index.html").write_text("<title>RLX</title>")
    return folder


@pytest.fixture
def locked(start_api, web: Path) -> Api:
    return start_api(api_key=KEY, web_folder=web)


def every_route(api: Api) -> Iterator[tuple[str, str]]:
    yield from [("GET", "/openapi.json"), ("GET", "/docs"), ("GET", "/v1/x"), ("GET", "/v2"), ("DELETE", "/x")]
    for path, operations in api.client.app.openapi()["paths"].items():
        for method in operations:
            yield method.upper(), path.replace("{digest}", "0" * 64).replace("{", "").replace("}", "")


def test_a_stranger_gets_401_from_every_route_but_health(locked: Api) -> None:
    tried = 0
    for method, path in every_route(locked):
        answer = locked.client.request(method, path, content=b"{", headers={"Content-Type": "application/json"})
        if path in OPEN:
            assert answer.status_code == 200
            continue
        if (method, path) == ("POST", "/v1/session"):
            assert answer.status_code in {401, 422}
            continue
        assert problem(answer)["status"] == 401, (method, path)
        assert answer.headers["www-authenticate"] == "Bearer"
        tried += 1
    assert tried > 30
    assert locked.client.get("/v1/no-such-route").status_code == 401
    assert locked.client.post("/index.html").status_code == 401
    for path in ("/v2/health/%2e%2e/models/m", "/v2/health/x/%2e%2e/%2e%2e/v1/nodes", "/v1/health/more"):
        assert locked.client.get(path).status_code == 401, path


def test_health_and_the_page_are_for_everybody(locked: Api) -> None:
    assert locked.client.get("/v1/health/live").status_code == 200
    assert locked.client.get("/v2/health/live").status_code == 200
    assert locked.client.get("/v1/health/ready").status_code == 200
    assert "<title>RLX" in locked.client.get("/").text
    # Passed on, and no scheduler is there: not 401.
    assert locked.client.get("/v2/health/ready").status_code == 503


@pytest.mark.parametrize(
    "headers",
    [{"Authorization": f"Bearer {KEY}"}, {"Authorization": f"bearer  {KEY}"}, {"X-API-Key": KEY}],
)
def test_the_key_opens(locked: Api, headers: dict[str, str]) -> None:
    assert locked.client.get("/v1/jobs", headers=headers).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": "Bearer wrong"},
        {"Authorization": f"Basic {KEY}"},
        {"Authorization": KEY},
        {"X-API-Key": ""},
        {"Cookie": f"{COOKIE}=99999999999.0000"},
        {"Cookie": f"{COOKIE}=x"},
        {"Cookie": "\x00=;;;"},
    ],
)
def test_anything_else_does_not(locked: Api, headers: dict[str, str]) -> None:
    assert locked.client.get("/v1/jobs", headers=headers).status_code == 401


def test_the_page_trades_its_key_for_a_cookie(locked: Api) -> None:
    assert locked.client.post("/v1/session", json={"key": "wrong"}).status_code == 401
    answer = locked.client.post("/v1/session", json={"key": KEY})
    assert answer.status_code == 204
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert KEY not in cookie
    assert locked.client.get("/v1/jobs").status_code == 200
    locked.client.delete("/v1/session")
    assert locked.client.get("/v1/jobs").status_code == 401


def test_a_cookie_ends_with_its_time_and_with_the_key() -> None:
    now = [1000.0]
    sessions = Sessions(KEY, lambda: now[0])
    cookie = sessions.issue("key-1")
    assert sessions.key_of(cookie) == "key-1"
    assert Sessions("another key", lambda: now[0]).key_of(cookie) is None
    end, id, signature = cookie.split(".")
    assert sessions.key_of(f"{int(end) + 1}.{id}.{signature}") is None
    assert sessions.key_of(f"{end}.root.{signature}") is None
    now[0] += sessions.seconds
    assert sessions.key_of(cookie) is None


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "localhost:8000"}, 200),
        ({"Host": "[::1]:8000"}, 200),
        ({"Origin": "http://127.0.0.1:8000"}, 200),
        ({"Host": "evil.example"}, 403),
        ({"Host": "["}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://["}, 403),
    ],
)
def test_without_a_key_pages_of_other_sites_stay_outside(api: Api, headers: dict[str, str], status: int) -> None:
    assert api.client.get("/v1/jobs", headers=headers).status_code == status


def test_a_body_ends_at_the_limit_of_its_route(start_api) -> None:
    api = start_api(max_body_bytes=100, max_upload_bytes=2000)
    declared = problem(api.client.post("/v1/compile", json={"model": "m" * 200, "targets": ["c"]}))
    assert (declared["status"], declared["code"]) == (413, "RLX-E431")
    assert "max_body_bytes" in declared["help"]

    def stream() -> Iterator[bytes]:
        for _ in range(300):
            yield b"x" * 10

    counted = api.client.post("/v1/compile", content=stream(), headers={"Content-Type": "application/json"})
    assert problem(counted)["status"] == 413
    raw = api.client.post("/v1/models/m/versions", content=stream(), headers={"Content-Type": "application/zip"})
    assert problem(raw)["status"] == 413
    form = api.client.post("/v1/models/m/versions", files={"model": ("m.rlx", b"x" * 3000)})
    assert problem(form)["status"] == 413
    assert list((api.service.blobs.folder / "tmp").iterdir()) == []


def test_every_answer_carries_a_request_id(api: Api) -> None:
    given = api.client.get("/v1/jobs/job-none", headers={"X-Request-Id": "mine"})
    assert given.headers["x-request-id"] == "mine"
    assert problem(given)["request_id"] == "mine"


def test_unknown_routes_and_methods_are_problems(api: Api) -> None:
    assert problem(api.client.get("/v1/nothing"))["status"] == 404
    assert problem(api.client.delete("/v1/jobs"))["status"] == 405


def test_a_fault_of_the_service_is_a_problem_too(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def fault(*_: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr(type(api.service.database), "read", fault)
    assert problem(api.client.get("/v1/jobs"))["code"] == "RLX-E900"


def test_a_database_that_is_down_is_said_with_when_to_come_again(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def down(*_: object) -> None:
        raise OperationalError("SELECT", {}, Exception("connection refused"))

    monkeypatch.setattr(type(api.service.database), "read", down)
    answer = api.client.get("/v1/jobs")
    assert problem(answer)["code"] == "RLX-E535"
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")


def test_the_dashboard_is_served_where_it_is_built_and_the_plain_page_where_not(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("source")
    assert page_in(tmp_path) == tmp_path
    for name in ("plain", "dist"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "index.html").write_text(name)
        assert page_in(tmp_path) == tmp_path / name
