"""The stack in real containers: it does what the demo shows, and its parts die, freeze and lose each other.

`make compose-test` runs this. Whatever happens to workers, Redis and the network, every job ends exactly once.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import time
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from examples.efficientnet_lite0 import convert, demo
from examples.efficientnet_lite0.photos import PHOTOS
from rlx_wire.api import Job
from tests.support.compose_stack import SECRETS, ComposeStack
from tests.support.engine import docker_engine
from tests.support.jobs_stack import until

if TYPE_CHECKING:
    from docker.models.containers import Container

pytestmark = pytest.mark.containers

ROOT = Path(__file__).parents[2]
OURS = ("gss", "compile-api", "scheduler", "compile-worker", "node")
THEIRS = ("redis", "postgres")


@pytest.fixture(scope="module")
def running(request: pytest.FixtureRequest) -> Iterator[ComposeStack]:
    """All of it, with the demo's model uploaded, compiled and deployed; the times that this takes are told."""
    terminal = request.config.get_terminal_writer()
    capture = request.config.pluginmanager.get_plugin("capturemanager")
    began = time.monotonic()

    def tell(what: str) -> None:
        with capture.global_and_fixture_disabled():
            terminal.line(f"{time.monotonic() - began:6.1f} s  {what}")

    data = ROOT / "build/engine"
    with docker_engine(data) as url:
        stack = ComposeStack(url)
        try:
            stack.compose("down", "--volumes")  # what a run left that was killed
            tell("the engine answers")
            stack.prepare()
            tell("the images are there")
            stack.up(**{"compile-worker": 2})
            tell("all containers are healthy")
            demo.deploy(stack.client, convert.convert(), tell)
            yield stack
        finally:
            stack.down()
            tell("all containers are gone")
    if "CI" in os.environ:  # some gigabytes in a million small files: what is written for that is ten times as fast
        subprocess.run(["rm", "-rf", data], check=False)


@pytest.fixture
def stack(running: ComposeStack) -> ComposeStack:
    """All of it up and whole, whatever an earlier test left."""
    for service in OURS + THEIRS:
        for container in running.containers(service):
            if container.status == "paused":
                container.unpause()
    running.up(**{"compile-worker": 2})
    return running


def check_ended_once(stack: ComposeStack, job: Job) -> list[str]:
    """One success of its one task, told once, and one artifact, whole; the states of its attempts."""
    assert job.state == "succeeded", job
    (task,) = job.tasks
    states = [attempt.state for attempt in task.attempts]
    assert states.count("succeeded") == 1, task
    assert set(states) <= {"succeeded", "lost"}, task
    ends = Counter((event.kind, event.state) for event in stack.client.events(job) if event.state == "succeeded")
    assert ends == {("task", "succeeded"): 1, ("job", "succeeded"): 1}
    key = {"Authorization": f"Bearer {stack.key}"}
    bundle = httpx.get(f"{stack.url}/v1/artifacts/{task.artifact}/bundle", headers=key, timeout=30)
    assert zipfile.ZipFile(io.BytesIO(bundle.content)).testzip() is None
    found = [artifact.digest for artifact in stack.client.artifacts(model=job.model).items]
    assert found.count(task.artifact) == 1
    return states


def idle(worker: Container) -> bool:
    """Whether a worker has nothing to do: no child that compiles is among its processes."""
    return not any("rlx_compiler.child" in " ".join(row) for row in worker.top()["Processes"])


def compile_once(stack: ComposeStack, target: str = "llvm", **options: object) -> Job:
    """A job of one task. For `c` it takes some seconds anywhere: time to do something to whoever works on it."""
    return stack.client.compile(demo.NAME, [target], **options)


def serves(stack: ComposeStack) -> bool:
    return demo.classify(stack.client, PHOTOS[0]).right


def reaches(stack: ComposeStack, service: str, other: str, port: int) -> bool:
    """Whether a service can connect to any address that another one has."""
    networks = stack.container(other).attrs["NetworkSettings"]["Networks"].values()
    addresses = [(network["IPAddress"], port) for network in networks]
    attempt = f"""
import socket
for address in {addresses}:
    try:
        socket.create_connection(address, timeout=1).close()
    except OSError:
        continue
    break
else:
    raise SystemExit(1)
"""
    return stack.container(service).exec_run(["python", "-c", attempt])[0] == 0


def test_the_demo_sees_what_the_photos_show_on_both_targets(stack: ComposeStack) -> None:
    results = [demo.classify(stack.client, photo) for photo in PHOTOS]
    assert [result.photo.name for result in results if not result.right] == []


def test_the_image_brings_the_dashboard(stack: ComposeStack) -> None:
    page = httpx.get(stack.url)
    assert page.status_code == 200
    scripts = re.findall(r'src="\./(assets/[^"]+\.js)"', page.text)
    assert scripts, page.text
    for script in scripts:
        code = httpx.get(f"{stack.url}/{script}")
        assert code.status_code == 200
        assert "javascript" in code.headers["content-type"]


def test_containers_are_closed(stack: ComposeStack) -> None:
    for service in OURS + THEIRS:
        for container in stack.containers(service):
            host = container.attrs["HostConfig"]
            assert container.attrs["State"]["Health"]["Status"] == "healthy"
            assert host["ReadonlyRootfs"], service
            assert host["CapDrop"] == ["ALL"], service
            assert host["SecurityOpt"] == ["no-new-privileges:true"], service
            assert host["Memory"] > 0, service
            assert host["PidsLimit"] > 0, service
            status, output = container.exec_run(["sh", "-c", "id -u; touch /usr/bin/x 2>&1"])
            assert status != 0, service
            assert int(output.split()[0]) != 0, service
            assert b"Read-only file system" in output, service
            published = [bound for ports in container.ports.values() for bound in ports or ()]
            assert {bound["HostIp"] for bound in published} == ({"127.0.0.1"} if service == "compile-api" else set())
    # A node runs what others upload; it reaches neither the database nor the broker, not even by address.
    assert reaches(stack, "node", "compile-api", 8000)
    assert not reaches(stack, "node", "redis", 6379)
    assert not reaches(stack, "node", "postgres", 5432)


@pytest.mark.parametrize("secret", SECRETS)
def test_nothing_starts_without_its_secrets(stack: ComposeStack, secret: str) -> None:
    with pytest.raises(AssertionError, match=f"required variable {secret} is missing"):
        stack.compose("config", without=secret)


def test_images_carry_what_they_need_and_no_more(stack: ComposeStack) -> None:
    def has(service: str, module: str) -> bool:
        return stack.containers(service)[0].exec_run(["python", "-c", f"import {module}"])[0] == 0

    assert has("compile-worker", "llvmlite")
    for service in ("gss", "scheduler", "compile-api"):
        assert not has(service, "llvmlite"), service
        assert not has(service, "pytest"), service
    history = [layer for service in OURS for layer in stack.containers(service)[0].image.history()]
    assert not any("INDEX" in layer["CreatedBy"] for layer in history)


def test_a_killed_worker_s_job_goes_to_the_other_and_ends_once(stack: ComposeStack) -> None:
    job = compile_once(stack, "c", opt_level=2)
    worker = stack.worker_of(job)
    worker.kill()
    done = stack.ended(job)
    assert check_ended_once(stack, done) == ["lost", "succeeded"]
    first, second = done.tasks[0].attempts
    assert first.worker != second.worker


def test_jobs_outlast_a_paused_redis(stack: ComposeStack) -> None:
    running = compile_once(stack, opt_level=1)
    stack.worker_of(running)
    redis = stack.container("redis")
    redis.pause()
    accepted = [compile_once(stack, "c", opt_level=1), compile_once(stack, "c", opt_level=0)]
    # What runs needs no Redis to end.
    check_ended_once(stack, stack.ended(running))
    assert {stack.client.job(job.id).state for job in accepted} == {"queued"}
    assert serves(stack)
    redis.unpause()
    for job in accepted:
        check_ended_once(stack, stack.ended(job))


def test_a_worker_that_is_cut_off_loses_its_job_and_cannot_end_it_twice(stack: ComposeStack) -> None:
    networks = [stack.network(name) for name in ("broker", "cluster")]
    job = compile_once(stack, "c", strict=True)
    worker = stack.worker_of(job)
    for network in networks:
        network.disconnect(worker)
    try:
        until(lambda: stack.client.job(job.id).tasks[0].losses == 1, 30, "the lease of the lost worker ends")
    finally:
        for network in networks:
            network.connect(worker)
    assert check_ended_once(stack, stack.ended(job)) == ["lost", "succeeded"]
    until(lambda: idle(worker), 120, "the worker that was cut off gives up its attempt")
    assert check_ended_once(stack, stack.client.job(job.id)) == ["lost", "succeeded"]
    # It is back at work: two jobs at a time are two workers'.
    both = [compile_once(stack, strict=True, opt_level=level) for level in (1, 2)]
    assert len({stack.worker_of(job).id for job in both}) == 2
    for job in both:
        check_ended_once(stack, stack.ended(job))


def test_a_node_that_is_cut_off_is_missed_and_serves_again(stack: ComposeStack) -> None:
    cluster, node = stack.network("cluster"), stack.container("node")
    assert serves(stack)
    cluster.disconnect(node)
    try:
        until(lambda: not stack.client.ready(), 60, "the scheduler misses the node")
    finally:
        cluster.connect(node)
    until(stack.client.ready, 60, "the node is back")
    assert serves(stack)


def test_workers_are_scaled_under_load(stack: ComposeStack) -> None:
    jobs = [compile_once(stack, opt_level=level, fallback_to_ddr=True) for level in (1, 2, 3)]
    assert stack.worker_of(jobs[0]).id != stack.worker_of(jobs[1]).id
    stack.up(**{"compile-worker": 1})
    assert len(stack.containers("compile-worker")) == 1
    for job in jobs:
        check_ended_once(stack, stack.ended(job))


def test_all_of_it_stops_in_time_when_it_is_told_to(stack: ComposeStack) -> None:
    began = time.monotonic()
    stack.compose("stop")
    assert time.monotonic() - began < 60
    killed = 128 + 9
    codes = {one.name: one.attrs["State"]["ExitCode"] for service in OURS + THEIRS for one in stack.containers(service)}
    assert killed not in codes.values(), codes
    stack.up()
    until(stack.client.ready, 60, "a node serves again")
    assert serves(stack)
