"""Compile jobs over HTTP, as clients and workers see them, on both databases."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import func, select

from rlx_compile_api.tables import AttemptRow, JobRow, OutboxRow, TaskRow
from rlx_wire.bundle import read_manifest
from tests.support.compile_api import TOKEN, Api, problem

OTHER = "f" * 32


def states(api: Api, job: str) -> list[tuple[str, str]]:
    return [(task["target"], task["state"]) for task in api.job(job)["tasks"]]


def succeed(api: Api, folder: Path, job: dict[str, Any], attempt: int = 1) -> str:
    """A worker does the first task of a job from claim to commit."""
    task = job["tasks"][0]
    assert api.claim(task["id"], attempt).status_code == 200
    digest = api.send_bundle(folder, task, job["program_digest"], attempt)
    answer = api.report(task["id"], attempt, outcome="succeeded", artifact=digest, seconds_by_phase={"emit": 0.5})
    assert answer.status_code == 204, answer.text
    return digest


def test_a_job_goes_from_its_post_to_its_artifact(api_on_both: Api, tmp_path: Path) -> None:
    api = api_on_both
    api.upload()
    job = api.compile("net", "llvm", "c:x86-64-v4")
    assert job["state"] == "queued"
    assert [(task["target"], task["cpu"]) for task in job["tasks"]] == [("llvm", "x86-64-v3"), ("c", "x86-64-v4")]

    api.publish()
    (message,) = api.broker.queues["compile.llvm"]
    assert (message.task_id, message.attempt) == (job["tasks"][0]["id"], 1)
    assert len(api.broker.queues["compile.c"]) == 1

    digest = succeed(api, tmp_path, job)
    assert states(api, job["id"]) == [("llvm", "succeeded"), ("c", "queued")]
    assert api.job(job["id"])["state"] == "running"

    second = job["tasks"][1]
    api.claim(second["id"])
    other = api.send_bundle(tmp_path, second, job["program_digest"])
    api.report(second["id"], outcome="succeeded", artifact=other)
    done = api.job(job["id"])
    assert done["state"] == "succeeded"
    assert [task["artifact"] for task in done["tasks"]] == [digest, other]
    (attempt,) = done["tasks"][0]["attempts"]
    assert (attempt["state"], attempt["worker"], attempt["seconds_by_phase"]) == ("succeeded", "w1", {"emit": 0.5})

    listed = api.client.get("/v1/artifacts", params={"model": "net", "target": "llvm"}).json()["items"]
    assert [one["digest"] for one in listed] == [digest]


def test_the_files_of_an_artifact_are_read_one_by_one(api: Api, tmp_path: Path) -> None:
    api.upload()
    digest = succeed(api, tmp_path, api.compile())
    files = f"/v1/artifacts/{digest}/files"
    weights = api.client.get(f"{files}/weights.bin")
    assert (weights.content, weights.headers["content-type"]) == (b"weights", "application/octet-stream")
    manifest = api.client.get(f"{files}/manifest.json")
    assert manifest.headers["content-type"] == "application/json"
    assert manifest.json()["kernels"][0]["name"] == "k"
    known = {"If-None-Match": manifest.headers["etag"]}
    assert api.client.get(f"{files}/manifest.json", headers=known).status_code == 304
    assert api.client.get(f"{files}/weights.bin", headers=known).status_code == 200
    for path in (f"{files}/none.json", f"/v1/artifacts/{'0' * 64}/files/manifest.json"):
        assert problem(api.client.get(path))["status"] == 404


def test_a_claim_gives_the_source_and_how_to_compile_it(api: Api) -> None:
    version = api.upload(content=b"the text")
    job = api.compile(options={"opt_level": 1, "dims": {"n": 4}})
    assignment = api.claim(job["tasks"][0]["id"]).json()
    assert assignment["program_digest"] == version["program_digest"]
    assert (assignment["target"], assignment["cpu"]) == ("llvm", "x86-64-v3")
    assert assignment["options"] == {"opt_level": 1, "strict": False, "fallback_to_ddr": False, "dims": {"n": 4}}
    (file,) = assignment["source"]
    assert api.client.get(f"/v1/sources/{file['digest']}").content == b"the text"


def test_a_hundred_equal_posts_make_one_job_one_attempt_and_one_artifact(api_on_both: Api, tmp_path: Path) -> None:
    api = api_on_both
    api.upload()
    with ThreadPoolExecutor(20) as pool:
        posted = list(pool.map(lambda _: api.compile(), range(100)))
    assert len({job["id"] for job in posted}) == 1
    api.publish()
    assert len(api.broker.queues["compile.llvm"]) == 1
    succeed(api, tmp_path, posted[0])
    assert api.compile()["id"] == posted[0]["id"], "after success, the same job"

    database = api.service.database
    for table in (JobRow, TaskRow, AttemptRow):
        assert (
            database.read(lambda session, table=table: session.exec(select(func.count()).select_from(table)).one()) == 1
        )
    assert len(api.client.get("/v1/artifacts").json()["items"]) == 1


@pytest.mark.parametrize("end", ["failed", "cancelled"])
def test_after_a_failure_or_a_cancel_the_same_post_is_a_new_job(api_on_both: Api, end: str) -> None:
    api = api_on_both
    api.upload()
    first = api.compile()
    task = first["tasks"][0]["id"]
    if end == "failed":
        api.claim(task)
        fault = {"title": "CompileError", "status": 422, "detail": "no", "code": "RLX-E201"}
        assert api.report(task, outcome="failed", problem=fault).status_code == 204
        assert api.job(first["id"])["tasks"][0]["problem"]["detail"] == "no"
    else:
        api.client.post(f"/v1/jobs/{first['id']}/cancel")
    assert api.job(first["id"])["state"] == end
    second = api.compile()
    assert second["id"] != first["id"]
    assert second["tasks"][0]["id"] != task


def test_what_the_code_depends_on_makes_another_task(api: Api) -> None:
    api.upload()
    jobs = [
        api.compile(),
        api.compile(options={"opt_level": 0}),
        api.compile("net", "llvm:x86-64-v4"),
        api.compile("net", "c"),
    ]
    assert len({job["tasks"][0]["id"] for job in jobs}) == 4
    api.upload(content=b"another program")
    assert api.compile()["tasks"][0]["id"] not in {job["tasks"][0]["id"] for job in jobs}


def test_two_names_of_one_target_are_one_task(api: Api) -> None:
    api.upload()
    job = api.compile("net", "llvm", "llvm:x86-64-v3", "llvm")
    assert len(job["tasks"]) == 1
    assert api.compile()["id"] == job["id"]


def test_jobs_share_a_task_and_a_cancel_spares_what_another_job_wants(api_on_both: Api, tmp_path: Path) -> None:
    api = api_on_both
    api.upload()
    one, both = api.compile(), api.compile("net", "llvm", "c")
    assert one["id"] != both["id"]
    assert one["tasks"][0]["id"] == both["tasks"][0]["id"]

    cancelled = api.client.post(f"/v1/jobs/{both['id']}/cancel").json()
    assert cancelled["state"] == "cancelled"
    assert states(api, both["id"]) == [("llvm", "queued"), ("c", "cancelled")]
    succeed(api, tmp_path, one)
    assert api.job(one["id"])["state"] == "succeeded"
    assert api.job(both["id"])["state"] == "cancelled"


def test_cancel_ends_a_running_attempt_and_may_be_repeated(api_on_both: Api) -> None:
    api = api_on_both
    api.upload()
    job = api.compile()
    task = job["tasks"][0]["id"]
    api.claim(task)
    first = api.client.post(f"/v1/jobs/{job['id']}/cancel")
    again = api.client.post(f"/v1/jobs/{job['id']}/cancel")
    assert first.status_code == again.status_code == 200
    assert first.json() == again.json()
    assert first.json()["tasks"][0]["attempts"][0]["state"] == "cancelled"
    refusal = problem(api.beat(task))
    assert (refusal["status"], refusal["code"]) == (409, "RLX-E434")
    assert "cancelled" in refusal["detail"]


def test_of_two_workers_one_gets_the_attempt(api_on_both: Api) -> None:
    api = api_on_both
    api.upload()
    task = api.compile()["tasks"][0]["id"]
    tokens = [f"{number:032x}" for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        codes = list(pool.map(lambda token: api.claim(task, token=token).status_code, tokens))
    assert sorted(codes) == [200] + [409] * 7
    winner = tokens[codes.index(200)]
    assert api.claim(task, token=winner).status_code == 200, "the same claim, repeated"


def test_a_silent_worker_loses_its_attempt_and_its_late_report_changes_nothing(
    api_on_both: Api, tmp_path: Path
) -> None:
    api = api_on_both
    api.upload()
    job = api.compile()
    task = job["tasks"][0]
    api.publish()
    api.clock.pass_by(5)  # the leases count again, one lease after the start
    api.claim(task["id"])
    api.clock.pass_by(3.9)
    assert api.beat(task["id"], phase="emit", fraction=0.5).json() == {"seconds": 4.0}
    api.clock.pass_by(3.9)
    assert api.service.reconciler.end_leases() == 0
    api.clock.pass_by(0.2)
    assert api.service.reconciler.end_leases() == 1
    assert api.service.reconciler.end_leases() == 0

    digest_of_late = "0" * 64
    late = api.report(task["id"], outcome="succeeded", artifact=digest_of_late)
    assert late.status_code in {409, 422}
    api.publish()
    assert [message.attempt for message in api.broker.queues["compile.llvm"]] == [1, 2]
    succeed(api, tmp_path, job, attempt=2)
    attempts = api.job(job["id"])["tasks"][0]["attempts"]
    assert [(one["number"], one["state"]) for one in attempts] == [(1, "lost"), (2, "succeeded")]


def test_a_task_that_is_lost_too_often_fails_by_name(api_on_both: Api) -> None:
    api = api_on_both
    api.upload()
    job = api.compile()
    task = job["tasks"][0]["id"]
    fault = {"title": "ClusterError", "status": 503, "detail": "no disk", "code": "RLX-E532"}
    for attempt in range(1, 6):
        assert api.claim(task, attempt).status_code == 200
        assert api.report(task, attempt, outcome="abandoned", problem=fault).status_code == 204
    failed = api.job(job["id"])
    assert failed["state"] == "failed"
    assert failed["tasks"][0]["problem"]["code"] == "RLX-E530"
    assert failed["tasks"][0]["losses"] == 5
    assert api.claim(task, 6).status_code == 409


def test_an_uploaded_bundle_is_invisible_until_it_is_committed(api: Api, tmp_path: Path) -> None:
    api.upload()
    job = api.compile()
    task = job["tasks"][0]
    api.claim(task["id"])
    digest = api.send_bundle(tmp_path, task, job["program_digest"])
    assert api.client.get("/v1/artifacts").json()["items"] == []
    assert problem(api.client.get(f"/v1/artifacts/{digest}/bundle"))["status"] == 404
    api.report(task["id"], outcome="succeeded", artifact=digest)
    answer = api.client.get(f"/v1/artifacts/{digest}/bundle")
    assert answer.headers["etag"] == f'"{digest}"'
    assert read_manifest(tmp_path / task["id"]).digest == digest
    tagged = api.client.get(f"/v1/artifacts/{digest}/bundle", headers={"If-None-Match": f'"{digest}"'})
    assert tagged.status_code == 304


def test_a_bundle_of_another_program_is_not_committed(api: Api, tmp_path: Path) -> None:
    api.upload()
    task = api.compile()["tasks"][0]
    api.claim(task["id"])
    digest = api.send_bundle(tmp_path, task, "9" * 64)
    refusal = problem(api.report(task["id"], outcome="succeeded", artifact=digest))
    assert (refusal["status"], refusal["code"]) == (422, "RLX-E433")
    assert "program_digest" in refusal["detail"]
    missing = problem(api.report(task["id"], outcome="succeeded", artifact="1" * 64))
    assert "not uploaded" in missing["detail"]


def test_a_worker_of_another_version_is_sent_away(api: Api) -> None:
    api.upload()
    task = api.compile()["tasks"][0]["id"]
    assert "compiler" in problem(api.claim(task, version="0.2.0"))["detail"]
    assert api.claim(task).status_code == 200


def test_a_repeated_report_is_taken_once(api_on_both: Api, tmp_path: Path) -> None:
    api = api_on_both
    api.upload()
    job = api.compile()
    digest = succeed(api, tmp_path, job)
    assert api.report(job["tasks"][0]["id"], outcome="succeeded", artifact=digest).status_code == 204
    stranger = api.report(job["tasks"][0]["id"], token=OTHER, outcome="succeeded", artifact=digest)
    assert stranger.status_code == 409


def test_messages_wait_for_the_broker_and_lost_ones_are_owed_again(api_on_both: Api) -> None:
    api = api_on_both
    api.upload()
    task = api.compile()["tasks"][0]["id"]
    api.broker.down = True
    with pytest.raises(Exception, match="down"):
        api.publish()
    assert api.service.database.read(lambda s: s.exec(select(func.count()).select_from(OutboxRow)).one()) == 1
    api.broker.down = False
    assert api.publish() == 1
    assert api.publish() == 0

    reconciler = api.service.reconciler
    api.clock.pass_by(3)
    assert [reconciler.find_lost_messages() for _ in range(3)] == [0, 0, 0], "it is in its queue"
    api.broker.queues.clear()
    assert reconciler.find_lost_messages() == 0, "a worker may have just taken it"
    assert reconciler.find_lost_messages() == 1
    assert api.publish() == 1
    assert api.broker.queues["compile.llvm"][0].task_id == task
    assert [reconciler.find_lost_messages() for _ in range(2)] == [0, 0]


def test_as_many_messages_are_sent_again_as_are_missing_the_oldest_first(api: Api) -> None:
    tasks = []
    for number in range(3):
        api.upload("net", b"program %d" % number)
        tasks.append(api.compile()["tasks"][0]["id"])
        api.publish()
        api.clock.pass_by(1)
    api.clock.pass_by(3)
    del api.broker.queues["compile.llvm"][0]
    reconciler = api.service.reconciler
    assert [reconciler.find_lost_messages() for _ in range(2)] == [0, 1]
    api.publish()
    assert [message.task_id for message in api.broker.queues["compile.llvm"]] == [tasks[1], tasks[2], tasks[0]]


def test_a_claimed_task_is_not_looked_for_in_the_queue(api: Api) -> None:
    api.upload()
    task = api.compile()["tasks"][0]["id"]
    api.publish()
    api.broker.queues.clear()
    api.claim(task)
    api.clock.pass_by(3)
    assert [api.service.reconciler.find_lost_messages() for _ in range(3)] == [0, 0, 0]


def test_jobs_are_listed_newest_first_in_pages(api_on_both: Api) -> None:
    api = api_on_both
    made = []
    for number in range(5):
        api.upload("net", b"program %d" % number)
        made.append(api.compile()["id"])
        api.clock.pass_by(1)
    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = api.client.get("/v1/jobs", params={"limit": 2, **({"cursor": cursor} if cursor else {})}).json()
        seen += [job["id"] for job in page["items"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert seen == made[::-1]
    api.client.post(f"/v1/jobs/{made[1]}/cancel")
    cancelled = api.client.get("/v1/jobs", params={"state": "cancelled", "model": "net"}).json()["items"]
    assert [job["id"] for job in cancelled] == [made[1]]


@pytest.mark.parametrize("cursor", ["x", "W10", "WyJhIiwiYiJd", "WzFd", "WyJcdTAwMDAiXQ", "é", "WyJcdWQ4MDAiXQ"])
def test_a_made_up_cursor_is_refused(api_on_both: Api, cursor: str) -> None:
    for path in ("/v1/jobs", "/v1/models", "/v1/artifacts", "/v1/profiles"):
        assert problem(api_on_both.client.get(path, params={"cursor": cursor}))["code"] == "RLX-E435"


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        ({"model": "nobody", "targets": ["llvm"]}, 404, "nobody"),
        ({"model": "net", "version": 9, "targets": ["llvm"]}, 404, "version 9"),
        ({"model": "net", "version": 2**40, "targets": ["llvm"]}, 422, "version"),
        ({"model": "net", "targets": []}, 422, "targets"),
        ({"model": "net", "targets": ["lvm"]}, 422, "'lvm'"),
        ({"model": "net", "targets": ["llvm:host"]}, 422, "'host'"),
        ({"model": "net", "targets": ["llvm"], "optins": {}}, 422, "optins"),
        ({"model": "net", "targets": ["llvm"], "options": {"opt_level": 4}}, 422, "opt_level"),
        ({"model": "net\u0000", "targets": ["llvm"]}, 422, "model"),
        ([], 422, "body"),
    ],
)
def test_a_wrong_request_is_refused_by_name(api: Api, body: object, status: int, says: str) -> None:
    api.upload()
    refusal = problem(api.client.post("/v1/compile", json=body))
    assert refusal["status"] == status
    assert says in refusal["detail"]
    assert refusal["help"]


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"model": "\\ud800"}', b'{"\\ud800": 1}', b"NaN"]
)
def test_no_body_is_a_fault_of_the_server(api: Api, content: bytes) -> None:
    for path in ("/v1/compile", "/v1/tasks/task-1/attempts/1", "/v1/session"):
        answer = api.client.post(path, content=content, headers={"Content-Type": "application/json"})
        assert problem(answer)["status"] in {400, 422}


def test_a_token_is_needed_for_every_report(api: Api, tmp_path: Path) -> None:
    api.upload()
    task = api.compile()["tasks"][0]["id"]
    api.claim(task)
    assert api.beat(task, token=OTHER).status_code == 409
    assert api.client.put(f"/v1/tasks/{task}/attempts/1/artifact/{'0' * 64}").status_code == 422
    junk = api.client.put(
        f"/v1/tasks/{task}/attempts/1/artifact/{'0' * 64}",
        content=b"no zip",
        headers={"RLX-Attempt-Token": TOKEN},
    )
    assert problem(junk)["code"] == "RLX-E307"
    assert api.beat("task-unknown").status_code == 404
