"""Keys open what their scopes say, until they are revoked; nobody finds one in the database."""

from __future__ import annotations

import re
from typing import Any

import pytest

from rlx_compile_api.doors import is_open
from rlx_compile_api.keys import Keys
from rlx_compile_api.tables import KeyRow
from rlx_wire.service.scopes import scopes_for
from tests.support.compile_api import Api, problem

ROOT = "correct horse battery staple"
AS_ROOT = {"Authorization": f"Bearer {ROOT}"}


@pytest.fixture
def locked(start_api) -> Api:
    return start_api(api_key=ROOT)


def make(api: Api, *scopes: str, name: str = "ci") -> dict[str, Any]:
    answer = api.client.post("/v1/keys", json={"name": name, "scopes": scopes}, headers=AS_ROOT)
    assert answer.status_code == 201, answer.text
    assert answer.headers["location"] == f"/v1/keys/{answer.json()['id']}"
    assert answer.headers["cache-control"] == "no-store"
    return dict(answer.json())


def status(api: Api, key: str, method: str, path: str) -> int:
    return api.client.request(method, path, headers={"X-API-Key": key}).status_code


@pytest.mark.parametrize(
    ("scope", "opens", "refuses"),
    [
        ("read", [("GET", "/v1/jobs"), ("GET", "/openapi.json")], [("POST", "/v1/compile"), ("GET", "/v1/keys")]),
        ("compile", [("POST", "/v1/compile"), ("PUT", "/v1/deployments/x")], [("GET", "/v1/jobs")]),
        ("infer", [("POST", "/v1/infer"), ("GET", "/v2")], [("GET", "/v1/jobs"), ("POST", "/v1/compile")]),
        ("worker", [("GET", "/v1/deployments"), ("POST", "/v1/tasks/t/attempts/1")], [("GET", "/v1/jobs")]),
        ("admin", [("GET", "/v1/keys"), ("GET", "/v1/jobs"), ("POST", "/v1/compile")], []),
    ],
)
def test_a_scope_opens_its_routes_and_no_others(
    locked: Api, scope: str, opens: list[tuple[str, str]], refuses: list[tuple[str, str]]
) -> None:
    key = make(locked, scope)["key"]
    for method, path in opens:
        assert status(locked, key, method, path) not in {401, 403}, (method, path)
    for method, path in refuses:
        answer = locked.client.request(method, path, headers={"X-API-Key": key})
        assert problem(answer)["code"] == "RLX-E440", (method, path)
        assert f"opens {scope}, and this route needs" in answer.json()["detail"]


def test_every_route_has_a_scope_of_its_own(api: Api) -> None:
    """What the table forgets is for `admin` alone, which is right for keys and nothing else."""
    schema = api.client.app.openapi()
    for path, operations in schema["paths"].items():
        for method in operations:
            concrete = re.sub(r"\{[a-z_:]+\}", "x", path)
            if not is_open(method.upper(), concrete):
                for_admin = scopes_for(method.upper(), concrete) == frozenset({"admin"})
                assert for_admin == path.startswith("/v1/keys"), (method, path)
    assert scopes_for("GET", "/internal") == {"admin"}
    assert scopes_for("PATCH", "/v1/jobs") == {"admin"}


def test_a_revoked_key_opens_nothing_nor_does_its_session(locked: Api) -> None:
    made = make(locked, "read")
    locked.client.post("/v1/session", json={"key": made["key"]})
    assert locked.client.get("/v1/jobs").status_code == 200
    assert status(locked, made["key"], "GET", "/v1/jobs") == 200
    assert locked.client.delete(f"/v1/keys/{made['id']}", headers=AS_ROOT).status_code == 204
    assert status(locked, made["key"], "GET", "/v1/jobs") == 401
    assert locked.client.get("/v1/jobs").status_code == 401
    assert problem(locked.client.delete(f"/v1/keys/{made['id']}", headers=AS_ROOT))["status"] == 404
    assert problem(locked.client.get(f"/v1/keys/{made['id']}", headers=AS_ROOT))["status"] == 404


def test_a_session_has_the_scopes_of_its_key(locked: Api) -> None:
    locked.client.post("/v1/session", json={"key": make(locked, "read")["key"]})
    assert locked.client.get("/v1/jobs").status_code == 200
    assert locked.client.get("/v1/keys").status_code == 403


def test_the_list_shows_keys_page_by_page_and_never_themselves(locked: Api) -> None:
    made = []
    for number in range(3):
        made.append(make(locked, "infer", "read", "read", name=f"key {number}"))
        locked.clock.pass_by(1)
    first = locked.client.get("/v1/keys?limit=2", headers=AS_ROOT).json()
    second = locked.client.get(f"/v1/keys?limit=2&cursor={first['next']}", headers=AS_ROOT).json()
    assert [key["name"] for key in first["items"] + second["items"]] == ["key 2", "key 1", "key 0"]
    assert second["next"] is None
    assert first["items"][0]["scopes"] == ["read", "infer"]
    one = locked.client.get(f"/v1/keys/{made[0]['id']}", headers=AS_ROOT).json()
    assert set(one) == {"id", "name", "scopes", "created_at"}


def test_the_database_holds_no_secret(locked: Api) -> None:
    made = make(locked, "read")
    row = locked.service.database.read(lambda session: session.get_one(KeyRow, made["id"]))
    secret = made["key"].rpartition("_")[2]
    assert len(secret) == 64
    assert secret not in repr(row.model_dump())
    assert len(row.digest) == 64


def test_a_key_is_compared_whole_and_in_constant_time(locked: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    key = make(locked, "read")["key"]
    compared: list[tuple[int, int]] = []
    original = __import__("hmac").compare_digest

    def watched(a: Any, b: Any) -> bool:
        compared.append((len(a), len(b)))
        return bool(original(a, b))

    monkeypatch.setattr("rlx_compile_api.keys.hmac.compare_digest", watched)
    wrong = key[:-1] + ("0" if key[-1] != "0" else "1")
    unknown = key.replace(key[4:28], "0" * 24)
    for attempt in (wrong, unknown):
        compared.clear()
        assert locked.service.keys.caller(attempt) is None
        assert (64, 64) in compared, "a key that is not known is compared like one that is"
    assert locked.service.keys.caller(key + "0") is None
    assert locked.service.keys.caller("rlx_\u0661") is None


@pytest.mark.parametrize(
    "wanted",
    [{"name": "x", "scopes": []}, {"name": "x", "scopes": ["root"]}, {"name": "", "scopes": ["read"]}, {"name": "x"}],
)
def test_a_key_without_name_or_scopes_is_not_made(locked: Api, wanted: dict[str, Any]) -> None:
    assert problem(locked.client.post("/v1/keys", json=wanted, headers=AS_ROOT))["status"] == 422


def test_keys_live_on_both_databases(api_on_both: Api) -> None:
    made = api_on_both.client.post("/v1/keys", json={"name": "x", "scopes": ["read"]}).json()
    keys = Keys(api_on_both.service.database, None, api_on_both.clock)
    caller = keys.caller(made["key"])
    assert caller is not None
    assert caller.scopes == {"read"}
    assert keys.known(made["id"]) == caller


# ── how often ────────────────────────────────────────────────────────────────


def test_who_asks_too_often_is_told_when_to_come_again(start_api) -> None:
    api = start_api(api_key=ROOT, requests_per_second=0.5, request_burst=3)
    key = {"X-API-Key": make(api, "read", "worker")["key"]}
    assert [api.client.get("/v1/jobs", headers=key).status_code for _ in range(3)] == [200] * 3
    refused = api.client.get("/v1/jobs", headers=key)
    assert (problem(refused)["code"], refused.headers["retry-after"]) == ("RLX-E441", "2")
    assert api.client.get("/v1/jobs", headers=AS_ROOT).status_code == 200, "each caller has a count of its own"
    assert api.client.get("/v1/health/live", headers=key).status_code == 200
    assert api.client.post("/v1/tasks/t/attempts/1", headers=key).status_code == 422, "workers are not held up"


def test_a_stranger_who_tries_keys_is_slowed_down(start_api) -> None:
    api = start_api(api_key=ROOT, requests_per_second=0.5, request_burst=2)
    tries = [api.client.post("/v1/session", json={"key": f"guess {n}"}).status_code for n in range(3)]
    assert tries == [401, 401, 429]
    assert api.client.get("/v1/jobs", headers={"X-API-Key": "guess"}).status_code == 429
    assert api.client.get("/v1/jobs", headers=AS_ROOT).status_code == 200


def test_a_key_is_told_what_it_opens(locked: Api) -> None:
    made = make(locked, "read", "infer")
    for headers, expected in (
        ({"X-API-Key": made["key"]}, {"id": made["id"], "scopes": ["read", "infer"]}),
        (AS_ROOT, {"id": "root", "scopes": ["admin"]}),
    ):
        assert locked.client.get("/v1/session", headers=headers).json() == expected
    locked.client.cookies.clear()
    assert problem(locked.client.get("/v1/session"))["code"] == "RLX-E418"
    locked.client.delete(f"/v1/keys/{made['id']}", headers=AS_ROOT)
    assert locked.client.get("/v1/session", headers={"X-API-Key": made["key"]}).status_code == 401
