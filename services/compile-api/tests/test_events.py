"""The history of a job, as an EventSource reads it."""

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.support.compile_api import Api


def read(response: httpx2.Response) -> Iterator[tuple[int, str, dict[str, object]]]:
    """The events of a stream: id, name, data."""
    fields: dict[str, str] = {}
    for line in response.iter_lines():
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif "data" in fields:
            yield int(fields["id"]), fields["event"], json.loads(fields["data"])
            fields = {}


def follow(api: Api, job: str, last: int | None = None) -> list[tuple[int, str, dict[str, object]]]:
    headers = {} if last is None else {"Last-Event-ID": str(last)}
    with api.client.stream("GET", f"/v1/jobs/{job}/events", headers=headers) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        return list(read(response))


@pytest.fixture
def ended(api_on_both: Api, tmp_path: Path) -> tuple[Api, str]:
    api = api_on_both
    api.upload()
    job = api.compile()
    task = job["tasks"][0]
    api.claim(task["id"])
    api.beat(task["id"], phase="emit", fraction=0.25)
    api.beat(task["id"], phase="emit", fraction=0.25)
    digest = api.send_bundle(tmp_path, task, job["program_digest"])
    api.report(task["id"], outcome="succeeded", artifact=digest)
    return api, job["id"]


def test_the_history_is_told_from_the_start_in_order(ended: tuple[Api, str]) -> None:
    events = follow(*ended)
    assert [number for number, _, _ in events] == list(range(1, len(events) + 1))
    told = [(kind, data.get("state") or data.get("progress")) for _, kind, data in events]
    assert told == [
        ("job", "queued"),
        ("task", "running"),
        ("job", "running"),
        ("progress", {"phase": "emit", "fraction": 0.25}),
        ("task", "succeeded"),
        ("job", "succeeded"),
    ]


def test_last_event_id_goes_on_where_it_broke_off(ended: tuple[Api, str]) -> None:
    everything = follow(*ended)
    assert follow(*ended, last=3) == everything[3:]


def test_an_event_source_that_knows_all_is_told_to_stop(ended: tuple[Api, str]) -> None:
    api, job = ended
    answer = api.client.get(f"/v1/jobs/{job}/events", headers={"Last-Event-ID": "6"})
    assert answer.status_code == 204


def test_an_unknown_job_has_no_history(api: Api) -> None:
    assert api.client.get("/v1/jobs/job-none/events").status_code == 404
    assert api.client.get("/v1/jobs/job-none/events", headers={"Last-Event-ID": "x"}).status_code == 422


def test_a_change_is_told_at_once(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rlx_compile_api.routes.jobs._LOOK_AGAIN", 60.0)  # so that only the bell wakes it
    api.upload()
    job = api.compile()["id"]
    heard: list[str] = []

    def listen() -> None:
        heard.extend(str(data["state"]) for _, kind, data in follow(api, job) if kind == "job")

    listener = threading.Thread(target=listen)
    listener.start()
    while not api.service.bell._listeners:
        time.sleep(0.001)
    api.client.post(f"/v1/jobs/{job}/cancel")
    listener.join(timeout=10)
    assert heard == ["queued", "cancelled"]
