"""Deployments and profiles: kept, listed, and told to those who wait."""

import threading
import time
from pathlib import Path

import pytest

from tests.support.compile_api import Api, problem

JSON = {"Content-Type": "application/json"}


def compiled(api: Api, folder: Path) -> str:
    job = api.compile()
    task = job["tasks"][0]
    api.claim(task["id"])
    digest = api.send_bundle(folder, task, job["program_digest"])
    api.report(task["id"], outcome="succeeded", artifact=digest)
    return digest


def test_a_deployment_names_what_is_compiled_by_now(api_on_both: Api, tmp_path: Path) -> None:
    api = api_on_both
    assert api.client.get("/v1/deployments").json() == {"version": 0, "items": [], "next": None}
    api.upload()
    wanted = {"model": "net", "targets": ["llvm", "c"], "replicas": 2, "node_selector": {"zone": "a"}}
    made = api.client.put("/v1/deployments/shop", json=wanted).json()
    assert (made["version"], made["artifacts"], made["node_selector"]) == (1, [], {"zone": "a"})
    assert api.client.get("/v1/deployments").json()["version"] == 1

    digest = compiled(api, tmp_path)
    listed = api.client.get("/v1/deployments").json()
    assert listed["version"] == 2, "nodes hear of the artifact"
    (one,) = listed["items"]
    assert [(part["target"], part["cpu"], part["digest"]) for part in one["artifacts"]] == [
        ("llvm", "x86-64-v3", digest)
    ]
    api.client.put("/v1/deployments/shop", json={**wanted, "targets": ["llvm:x86-64-v4"]})
    assert api.client.get("/v1/deployments/shop").json()["artifacts"] == []
    api.client.put("/v1/deployments/shop", json={**wanted, "targets": ["llvm:x86-64-v3"]})
    assert len(api.client.get("/v1/deployments/shop").json()["artifacts"]) == 1

    assert api.client.delete("/v1/deployments/shop").status_code == 204
    assert problem(api.client.delete("/v1/deployments/shop"))["status"] == 404
    assert api.client.get("/v1/deployments").json() == {"version": 5, "items": [], "next": None}


def test_artifacts_that_no_deployment_wants_disturb_no_node(api: Api, tmp_path: Path) -> None:
    api.upload("net")
    api.upload("other", b"other program")
    api.client.put("/v1/deployments/other", json={"model": "other"})
    compiled(api, tmp_path)
    assert api.client.get("/v1/deployments").json()["version"] == 1


def test_a_node_that_waits_hears_of_a_change_at_once(api: Api) -> None:
    api.upload()
    answers: list[dict[str, object]] = []

    def wait() -> None:
        answers.append(api.client.get("/v1/deployments", params={"version": 0, "wait": 30}).json())

    waiting = threading.Thread(target=wait)
    began = time.monotonic()
    waiting.start()
    while not api.service.bell._listeners:
        time.sleep(0.001)
    assert answers == []
    api.client.put("/v1/deployments/net", json={"model": "net"})
    waiting.join(timeout=10)
    assert answers[0]["version"] == 1
    assert time.monotonic() - began < 5


def test_a_wait_that_sees_no_change_ends(api: Api) -> None:
    answer = api.client.get("/v1/deployments", params={"version": 0, "wait": 0.05})
    assert answer.json()["version"] == 0


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"model": "nobody"}, 404),
        ({"model": "net", "version": 7}, 404),
        ({"model": "net", "replicas": -1}, 422),
        ({"model": "net", "node_selector": {"a": "\u0000"}}, 422),
    ],
)
def test_a_wrong_deployment_is_refused(api: Api, body: dict[str, object], status: int) -> None:
    api.upload()
    assert problem(api.client.put("/v1/deployments/net", json=body))["status"] == status
    for query in ({"wait": "nan"}, {"wait": 61}, {"version": -1}):
        assert api.client.get("/v1/deployments", params=query).status_code == 422


@pytest.mark.parametrize(
    ("target", "what", "help"),
    [
        ("lvm", "nothing compiles for target 'lvm'", "did you mean 'llvm'?"),
        ("llvm:x86-64-v5", "llvm has no 'x86-64-v5'", "did you mean 'x86-64-v4'?"),
    ],
)
def test_a_target_that_nothing_compiles_for_leaves_the_deployment_as_it_is(
    api: Api, target: str, what: str, help: str
) -> None:
    api.upload()
    api.client.put("/v1/deployments/net", json={"model": "net"})
    before = api.client.get("/v1/deployments").json()
    refused = problem(api.client.put("/v1/deployments/net", json={"model": "net", "targets": ["c", target]}))
    assert (refused["status"], refused["code"]) == (422, "RLX-E433")
    assert what in refused["detail"]
    assert help in str(refused)
    assert api.client.get("/v1/deployments").json() == before


def test_a_profile_is_kept_as_it_came(api_on_both: Api) -> None:
    client = api_on_both.client
    trace = b'{"traceEvents": [ ]}'
    answer = client.post(
        "/v1/profiles",
        params={"model": "net", "note": "fast"},
        content=trace,
        headers=JSON,
    )
    assert answer.status_code == 201
    profile = answer.json()
    assert client.get(answer.headers["location"]).json() == profile
    assert client.get(f"/v1/profiles/{profile['id']}/trace").content == trace
    assert client.get("/v1/profiles").json()["items"] == [profile]
    assert (profile["model"], profile["note"], profile["bytes"]) == ("net", "fast", len(trace))


@pytest.mark.parametrize("content", [b"", b"{}", b"[", b"\xff", b"[" * 100_000, b'{"traceEvents": 1}'])
def test_what_is_no_profile_is_refused(api: Api, content: bytes) -> None:
    answer = api.client.post("/v1/profiles", content=content, headers=JSON)
    assert problem(answer)["code"] == "RLX-E433"
    assert problem(api.client.post("/v1/profiles", content=b"[]"))["status"] == 415
    assert problem(api.client.get("/v1/profiles/profile-none"))["status"] == 404


def test_deployments_come_page_by_page_or_all_at_once(api_on_both: Api) -> None:
    api = api_on_both
    api.upload()
    for name in ("b", "a", "c"):
        api.client.put(f"/v1/deployments/{name}", json={"model": "net"})
    assert [each["name"] for each in api.client.get("/v1/deployments").json()["items"]] == ["a", "b", "c"]
    first = api.client.get("/v1/deployments?limit=2").json()
    second = api.client.get("/v1/deployments", params={"limit": 2, "cursor": first["next"]}).json()
    assert [each["name"] for each in first["items"] + second["items"]] == ["a", "b", "c"]
    assert (first["version"], second["version"], second["next"]) == (3, 3, None)
    assert api.client.get("/v1/deployments?cursor=x").status_code == 400
