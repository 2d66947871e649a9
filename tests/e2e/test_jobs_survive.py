"""Jobs outlive what runs them: workers, compile-api and Redis are killed, and every job ends exactly once.

The compiler is a stand-in (`tests.support.fake_compiler`) that stops where the test wants it; all else is real.
"""

from __future__ import annotations

import io
import time
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.crowding import crowding
from tests.support.jobs_stack import JobsStack, until

LEVELS = ("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4")


@pytest.fixture(scope="module")
def running_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JobsStack]:
    folder = tmp_path_factory.mktemp("stack")
    stack = JobsStack(folder, lease_seconds=2, republish_seconds=1, reconcile_seconds=0.5)
    try:
        stack.start()
        yield stack
    finally:
        stack.stop()


@pytest.fixture
def stack(running_stack: JobsStack, request: pytest.FixtureRequest) -> JobsStack:
    """All of it up, with a program of this test's own as the latest version."""
    running_stack.heal()
    running_stack.upload(request.node.name.encode())
    return running_stack


def check_ended_once(stack: JobsStack, job: dict[str, Any]) -> None:
    """One success a task, told once; one artifact, whole."""
    assert job["state"] == "succeeded", job
    for task in job["tasks"]:
        outcomes = Counter(attempt["state"] for attempt in task["attempts"])
        assert outcomes["succeeded"] == 1, task
        assert set(outcomes) <= {"succeeded", "lost"}, task
        bundle = stack.client.get(f"/v1/artifacts/{task['artifact']}/bundle")
        assert zipfile.ZipFile(io.BytesIO(bundle.content)).testzip() is None
    events = stack.client.get(f"/v1/jobs/{job['id']}/events").text
    assert events.count('"kind":"task"') >= len(job["tasks"])
    told = Counter(line for line in events.splitlines() if '"kind":"task"' in line and '"state":"succeeded"' in line)
    assert sum(told.values()) == len(job["tasks"])


def kill_a_worker_that_compiles(stack: JobsStack, number: int) -> float:
    """Kills the worker's group once its child wrote an object; gives the seconds until the next one is there."""
    stack.upload(b"%s %d" % (stack.model.encode(), number))
    stack.hold()
    before = stack.objects_written()
    job = stack.compile()
    until(
        lambda: stack.objects_written() == before + 1,
        20 * crowding(),
        "an object is written",
    )
    stack.kill("worker")
    killed = time.monotonic()
    stack.start_worker()
    until(
        lambda: stack.objects_written() == before + 2,
        20 * crowding(),
        "it starts again",
    )
    restarted = time.monotonic() - killed
    artifacts = stack.client.get("/v1/artifacts").json()["items"]
    assert job["program_digest"] not in {artifact["program_digest"] for artifact in artifacts}
    stack.let_go()
    done = stack.ended(job["id"])
    check_ended_once(stack, done)
    assert [attempt["state"] for attempt in done["tasks"][0]["attempts"]] == ["lost", "succeeded"]
    return restarted


def test_a_killed_worker_s_task_starts_again_and_is_committed_once(stack: JobsStack) -> None:
    assert max(kill_a_worker_that_compiles(stack, number) for number in range(3)) < 10 * crowding()


@pytest.mark.chaos
def test_twenty_killed_workers(tmp_path: Path) -> None:
    stack = JobsStack(tmp_path)  # with the settings that users have
    try:
        stack.start()
        seconds = [kill_a_worker_that_compiles(stack, number) for number in range(20)]
    finally:
        stack.stop()
    print(f"started again after {min(seconds):.1f} … {max(seconds):.1f} s")
    assert max(seconds) < 10


@pytest.mark.parametrize("point", ["worker.before-upload", "worker.before-report", "worker.before-ack"])
def test_a_worker_killed_at_any_point_of_its_end_commits_once(stack: JobsStack, point: str) -> None:
    stack.kill("worker")
    fault, reached = stack.fault(point)
    stack.start_worker(fault=fault)
    job = stack.compile()
    until(reached.exists, 20, f"{point} is reached: {stack.log('worker')[-3000:]}")
    stack.kill("worker")
    stack.start_worker()
    done = stack.ended(job["id"])
    check_ended_once(stack, done)
    lost = [attempt["state"] for attempt in done["tasks"][0]["attempts"]].count("lost")
    assert lost == (0 if point == "worker.before-ack" else 1)


@pytest.mark.parametrize("point", ["publisher.before-send", "publisher.after-send"])
def test_an_api_killed_around_a_send_loses_no_job(stack: JobsStack, point: str) -> None:
    stack.kill("api")
    fault, reached = stack.fault(point)
    stack.start_api(fault=fault)
    with suppress(httpx.TransportError):  # the job is committed, and the answer may be lost with the process
        stack.compile()
    until(reached.exists, 20, f"{point} is reached")
    stack.exits("api")
    stack.start_api()
    assert len(stack.client.get("/v1/jobs", params={"model": stack.model}).json()["items"]) == 1
    done = stack.ended(stack.compile()["id"])
    check_ended_once(stack, done)
    assert len(done["tasks"][0]["attempts"]) == 1


def test_an_emptied_redis_loses_no_job(stack: JobsStack) -> None:
    stack.hold()
    before = stack.objects_written()
    running, waiting = stack.compile("llvm"), stack.compile("c")
    until(lambda: stack.objects_written() == before + 1, 20, "one of them runs")
    stack.redis.empty()
    stack.let_go()
    for job in (running, waiting):
        check_ended_once(stack, stack.ended(job["id"]))


def test_a_cancelled_job_stops_its_child_and_frees_the_worker(stack: JobsStack) -> None:
    stack.hold()
    before = stack.objects_written()
    job = stack.compile("llvm")
    until(lambda: stack.objects_written() == before + 1, 20, "it runs")
    assert stack.client.post(f"/v1/jobs/{job['id']}/cancel").json()["state"] == "cancelled"
    other = stack.compile("c")
    until(lambda: stack.objects_written() == before + 2, 10, "the worker takes the next one")
    stack.let_go()
    assert stack.ended(other["id"])["state"] == "succeeded"
    assert stack.job(job["id"])["state"] == "cancelled"
    assert list((stack.folder / "work").glob("worker-*/attempt-*")) == []
    assert len(list((stack.folder / "work").glob("worker-*"))) == 1, "what killed workers left is gone"


def test_a_worker_that_is_told_to_end_does_not_wait_for_its_compilation(stack: JobsStack) -> None:
    stack.hold()
    before = stack.objects_written()
    job = stack.compile("llvm")
    until(lambda: stack.objects_written() == before + 1, 20, "it runs")
    stack.terminate("worker", 10)
    stack.let_go()
    stack.start_worker()
    check_ended_once(stack, stack.ended(job["id"]))


def test_a_program_at_fault_fails_its_job_at_once(stack: JobsStack) -> None:
    stack.upload(b"fault")
    done = stack.ended(stack.compile()["id"])
    assert done["state"] == "failed"
    (task,) = done["tasks"]
    assert task["problem"]["code"] == "RLX-E203"
    assert [attempt["state"] for attempt in task["attempts"]] == ["failed"]


def many_jobs(stack: JobsStack) -> list[str]:
    """52 tasks that differ, of 26 jobs."""
    options = [
        {"opt_level": level, "strict": strict, "fallback_to_ddr": ddr}
        for level, strict, ddr in product(range(4), (False, True), (False, True))
    ]
    wanted = [(cpu, choice) for choice in options for cpu in LEVELS][:26]
    return [stack.compile(f"llvm:{cpu}", f"c:{cpu}", **choice)["id"] for cpu, choice in wanted]


@pytest.mark.chaos
@pytest.mark.parametrize("emptied", [False, True])
def test_redis_killed_under_fifty_tasks(tmp_path: Path, emptied: bool) -> None:
    stack = JobsStack(tmp_path)
    try:
        stack.start()
        stack.upload()
        jobs = many_jobs(stack)
        until(lambda: stack.objects_written() >= 5, 60, "some of them run")
        for point in ("publisher.before-send", "publisher.after-send"):
            stack.kill("api")
            fault, reached = stack.fault(point)
            stack.start_api(fault=fault)
            with suppress(httpx.TransportError):
                stack.compile("c:armv8-a", opt_level=len(jobs) % 4)
            until(reached.exists, 20, f"{point} is reached")
            stack.exits("api")
            stack.redis.kill()
            if emptied:
                stack.redis.forget()
            stack.start_api()
            jobs.append(stack.compile("c:armv8-a", opt_level=len(jobs) % 4)["id"])
            jobs.append(stack.compile("c:rv64gc", opt_level=len(jobs) % 4)["id"])  # accepted without Redis
            stack.redis.start()
        stack.kill("worker")
        fault, reached = stack.fault("worker.before-ack")
        stack.start_worker(fault=fault)
        until(reached.exists, 60, "worker.before-ack is reached")
        stack.kill("worker")
        stack.redis.kill()
        if emptied:
            stack.redis.forget()
        stack.redis.start()
        stack.start_worker()
        ended = [stack.ended(job, 180) for job in jobs]
        assert sum(len(job["tasks"]) for job in ended) >= 50
        for job in ended:
            check_ended_once(stack, job)
    finally:
        stack.stop()
