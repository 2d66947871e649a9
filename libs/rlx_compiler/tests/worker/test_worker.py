"""One attempt in a worker, against a real compile-api in this process; the compiler is a function of the test."""

from __future__ import annotations

import fcntl
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from rlx_base.errors import ClusterError, CompileError, TextError
from rlx_base.span import Span
from rlx_compile_api.app import create_app
from rlx_compile_api.blobs import BlobStore
from rlx_compile_api.service import Service
from rlx_compile_api.settings import Settings
from rlx_compiler.options import CompileOptions, CompileResult
from rlx_compiler.worker import WorkerSettings
from rlx_compiler.worker.attempt import AttemptRunner
from rlx_compiler.worker.celery_app import celery_arguments, create_celery
from rlx_compiler.worker.scratch import scratch_folder
from rlx_wire.bundle import read_manifest
from rlx_wire.jobs import COMPILE_TASK, CompileMessage
from rlx_wire.manifest import Manifest
from tests.support.bundles import write_small_bundle
from tests.support.compile_api import ListBroker, inspect_text
from tests.support.served import served

KEY = "a key"


@dataclass
class World:
    """A served compile-api with one uploaded program, and a worker that is about to run."""

    url: str
    service: Service
    client: httpx.Client
    folder: Path
    program: str = ""

    def post(self, *targets: str) -> tuple[str, CompileMessage]:
        wanted = {"model": "net", "targets": targets or ("llvm",)}
        job = self.client.post("/v1/compile", json=wanted).json()
        return job["id"], CompileMessage(task_id=job["tasks"][0]["id"], attempt=1, request_id="r")

    def task(self, job: str) -> dict[str, Any]:
        return dict(self.client.get(f"/v1/jobs/{job}").json()["tasks"][0])

    def runner(self, compile: Callable[..., CompileResult], version: str = "0.1.0", **settings: Any) -> AttemptRunner:
        made = WorkerSettings(api_url=self.url, api_key=KEY, name="w", **settings)
        return AttemptRunner(made, compile, version, self.folder)

    def bundle(self, source: Path, options: CompileOptions, output: Path, **_: Any) -> CompileResult:
        """Compiles, in its way."""
        digest = write_small_bundle(output, self.program, options.target, options.cpu, options.opt_level)
        return CompileResult(digest, output, read_manifest(output), {}, {"emit": 0.25})


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setattr("rlx_compiler.worker.api._PAUSES", (0.01, 0.01))
    settings = Settings(data_folder=tmp_path / "api", api_key=KEY, lease_seconds=0.4, reconcile_seconds=0.05)
    app = create_app(settings, ListBroker(), inspector=inspect_text)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with served(app) as url, httpx.Client(base_url=url, headers={"X-API-Key": KEY}) as client:
        world = World(url, app.state.service, client, scratch)
        answer = client.post("/v1/models/net/versions", files={"model": ("net.rlx", b"line 1\nline 2")})
        world.program = answer.json()["program_digest"]
        yield world
    assert list(scratch.iterdir()) == [], "an attempt leaves nothing"


def test_an_attempt_is_claimed_compiled_and_committed(world: World) -> None:
    given: list[tuple[bytes, CompileOptions]] = []

    def compile(source: Path, options: CompileOptions, output: Path, **rest: Any) -> CompileResult:
        given.append((source.read_bytes(), options))
        rest["progress"]("emit", 0.5)
        return world.bundle(source, options, output)

    job, message = world.post("llvm:x86-64-v4")
    world.runner(compile).run(message)
    task = world.task(job)
    assert (task["state"], len(task["attempts"])) == ("succeeded", 1)
    assert task["attempts"][0]["seconds_by_phase"] == {"emit": 0.25}
    assert given == [(b"line 1\nline 2", CompileOptions(target="llvm", cpu="x86-64-v4"))]
    world.runner(compile).run(message)  # the message again: refused, and dropped
    assert len(given) == 1


def test_a_fault_of_the_program_is_told_with_its_line_and_without_our_folders(world: World) -> None:
    def compile(source: Path, *_: Any, **__: Any) -> CompileResult:
        raise TextError("E004", at=Span(str(source), 2, 1, 5), what="x", fix="y")

    job, message = world.post()
    world.runner(compile).run(message)
    problem = world.task(job)["problem"]
    assert (problem["file"], problem["line"]) == ("net.rlx", 2)
    assert "    2 | line 2\n      | ^^^^" in problem["rendered"]
    assert world.task(job)["attempts"][0]["state"] == "failed"


def test_an_error_without_a_place_is_told_too(world: World) -> None:
    def compile(*_: Any, **__: Any) -> CompileResult:
        raise CompileError("E203", level=9)

    job, message = world.post()
    world.runner(compile).run(message)
    assert world.task(job)["problem"]["code"] == "RLX-E203"


def test_a_fault_of_the_worker_gives_the_task_back(world: World) -> None:
    def compile(*_: Any, **__: Any) -> CompileResult:
        raise OSError("no space left")

    job, message = world.post()
    world.runner(compile).run(message)
    task = world.task(job)
    assert (task["state"], task["losses"], task["attempts"][0]["state"]) == ("queued", 1, "lost")


def test_heartbeats_keep_the_lease_and_carry_progress(world: World) -> None:
    seen: list[dict[str, Any]] = []

    def compile(source: Path, options: CompileOptions, output: Path, **rest: Any) -> CompileResult:
        rest["progress"]("emit", 7.0)
        end = time.monotonic() + 1.2  # three leases
        while time.monotonic() < end:
            assert not rest["over"].is_set()
            seen.append(world.task(job))
            time.sleep(0.05)
        return world.bundle(source, options, output)

    job, message = world.post()
    world.runner(compile).run(message)
    assert world.task(job)["state"] == "succeeded"
    assert len(world.task(job)["attempts"]) == 1
    assert seen[-1]["progress"] == {"phase": "emit", "fraction": 1.0}


def test_a_cancel_reaches_the_compiler_and_ends_the_attempt(world: World) -> None:
    def compile(*_: Any, **rest: Any) -> CompileResult:
        world.client.post(f"/v1/jobs/{job}/cancel")
        assert rest["over"].wait(5)
        raise CompileError("E212")

    job, message = world.post()
    world.runner(compile).run(message)
    assert world.task(job)["state"] == "cancelled"
    assert world.task(job)["problem"] is None


def test_without_compile_api_the_attempt_is_given_up(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_: Any, **__: Any) -> None:
        raise httpx.ConnectError("refused")

    def compile(*_: Any, **rest: Any) -> CompileResult:
        monkeypatch.setattr(httpx.Client, "post", unreachable)
        monkeypatch.setattr(httpx.Client, "request", unreachable)
        assert rest["over"].wait(5)
        raise CompileError("E212")

    _, message = world.post()
    world.runner(compile).run(message)


def test_a_result_that_cannot_be_delivered_is_dropped_and_done_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, message = world.post()
    tries: list[str] = []

    def lost(self: httpx.Client, method: str, url: str, **rest: Any) -> httpx.Response:
        if url.endswith("/result"):
            tries.append(method)
            return httpx.Response(503)
        return original(self, method, url, **rest)

    original = httpx.Client.request
    monkeypatch.setattr(httpx.Client, "request", lost)
    world.runner(world.bundle).run(message)
    assert len(tries) == 3
    monkeypatch.undo()
    end = time.monotonic() + 5
    while world.task(job)["state"] != "queued":
        assert time.monotonic() < end
        time.sleep(0.02)
    world.runner(world.bundle).run(CompileMessage(task_id=message.task_id, attempt=2, request_id="r"))
    assert [attempt["state"] for attempt in world.task(job)["attempts"]] == ["lost", "succeeded"]


def test_a_result_for_another_program_fails_at_once(world: World) -> None:
    """The service compares what came with what the task asked for; nobody tries the same again."""

    def compile(source: Path, options: CompileOptions, output: Path, **_: Any) -> CompileResult:
        digest = write_small_bundle(output, "f" * 64, options.target, options.cpu, options.opt_level)
        return CompileResult(digest, output, read_manifest(output), {}, {})

    job, message = world.post()
    world.runner(compile).run(message)
    task = world.task(job)
    assert (task["state"], [attempt["state"] for attempt in task["attempts"]]) == ("failed", ["failed"])
    assert task["problem"]["code"] == "RLX-E433"
    assert f"program_digest {'f' * 64}, the task asked for {world.program}" in task["problem"]["detail"]


def test_a_bundle_that_is_rejected_fails_at_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "rlx_compiler.worker.attempt.stream_bundle", lambda directory, sink: sink.write(b"no zip at all")
    )
    job, message = world.post()
    world.runner(world.bundle).run(message)
    task = world.task(job)
    assert (task["state"], [attempt["state"] for attempt in task["attempts"]]) == ("failed", ["failed"])
    assert task["problem"]["code"] == "RLX-E307"


def test_a_full_artifact_store_fails_the_attempt_after_some_tries(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[Path] = []

    def full(store: BlobStore, archive: Path, digest: str) -> None:
        tries.append(archive)
        raise ClusterError("E534", reason="No space left on device", folder=store.folder)

    monkeypatch.setattr(BlobStore, "put_bundle", full)
    job, message = world.post()
    world.runner(world.bundle).run(message)
    task = world.task(job)
    assert len(tries) == 3
    assert (task["state"], [attempt["state"] for attempt in task["attempts"]]) == ("failed", ["failed"])
    assert task["problem"]["code"] == "RLX-E534"
    assert "No space left on device" in task["problem"]["detail"]


def test_a_full_store_that_has_room_again_takes_the_bundle(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    full = [True]

    def once(store: BlobStore, archive: Path, digest: str) -> Manifest:
        if full:
            full.clear()
            raise ClusterError("E534", reason="No space left on device", folder=store.folder)
        return original(store, archive, digest)

    original = BlobStore.put_bundle
    monkeypatch.setattr(BlobStore, "put_bundle", once)
    job, message = world.post()
    world.runner(world.bundle).run(message)
    assert [attempt["state"] for attempt in world.task(job)["attempts"]] == ["succeeded"]


def test_a_source_that_the_store_has_lost_gives_the_task_back(world: World) -> None:
    """It may come back from a backup: that is not the program's fault."""
    job, message = world.post()
    (blob,) = (path for path in (world.service.blobs.folder / "blobs").rglob("*") if path.is_file())
    blob.unlink()
    world.runner(world.bundle).run(message)
    task = world.task(job)
    assert (task["state"], task["losses"]) == ("queued", 1)


def test_a_proxy_that_says_no_in_its_own_words_is_quoted(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def too_large(self: httpx.Client, method: str, url: str, **rest: Any) -> httpx.Response:
        if "/artifact/" in url:
            return httpx.Response(413, text="<h1>Too Large</h1>", request=httpx.Request(method, world.url + url))
        return original(self, method, url, **rest)

    original = httpx.Client.request
    monkeypatch.setattr(httpx.Client, "request", too_large)
    job, message = world.post()
    world.runner(world.bundle).run(message)
    task = world.task(job)
    assert task["state"] == "failed"
    assert "status 413: <h1>Too Large</h1>" in task["problem"]["detail"]


def test_a_worker_of_another_version_or_with_a_wrong_key_does_nothing(world: World) -> None:
    job, message = world.post()
    world.runner(world.bundle, version="9.9").run(message)
    runner = world.runner(world.bundle)
    AttemptRunner(WorkerSettings(api_url=world.url, api_key="wrong"), runner.compile, "0.1.0", world.folder).run(
        message
    )
    world.runner(world.bundle).run(CompileMessage(task_id="task-none", attempt=1, request_id="r"))
    assert world.task(job)["attempts"] == []


def test_a_key_for_workers_is_enough(world: World) -> None:
    wanted = {"name": "worker", "scopes": ["worker"]}
    key = world.client.post("/v1/keys", json=wanted).raise_for_status().json()["key"]
    job, message = world.post()
    settings = WorkerSettings(api_url=world.url, api_key=key, name="w")
    AttemptRunner(settings, world.bundle, "0.1.0", world.folder).run(message)
    assert world.task(job)["state"] == "succeeded"


def test_a_source_that_was_changed_on_its_way_is_not_compiled(world: World) -> None:
    job, message = world.post()
    (blob,) = (path for path in (world.service.blobs.folder / "blobs").rglob("*") if path.is_file())
    blob.write_bytes(b"line 1\nline X")
    world.runner(world.bundle).run(message)
    assert world.task(job)["problem"]["code"] == "RLX-E304"


# ── the process around it ────────────────────────────────────────────────────


def test_the_celery_task_runs_the_attempt_that_its_message_names(world: World, tmp_path: Path) -> None:
    job, message = world.post()
    app = create_celery(WorkerSettings(api_url=world.url, api_key=KEY), world.bundle, world.folder)
    app.tasks[COMPILE_TASK](**message.model_dump())
    assert world.task(job)["state"] == "succeeded"


def test_celery_is_set_so_that_no_task_is_lost_or_runs_twice(tmp_path: Path) -> None:
    settings = WorkerSettings(name="w", targets=("llvm",))
    conf = create_celery(settings, lambda *_, **__: None, tmp_path).conf  # type: ignore[arg-type]
    assert conf.task_acks_late
    assert conf.task_reject_on_worker_lost
    assert conf.worker_prefetch_multiplier == 1
    assert conf.accept_content == ["json"]
    assert conf.result_backend is None
    again = [
        conf.broker_transport_options["visibility_timeout"],
        conf.result_backend_transport_options["visibility_timeout"],
        conf.visibility_timeout,
    ]
    assert all(seconds > conf.task_time_limit > settings.compile_seconds for seconds in again)
    arguments = celery_arguments(settings)
    assert {"--without-gossip", "--without-mingle", "--queues=compile.llvm", "--hostname=w"} <= set(arguments)


def test_folders_of_killed_workers_are_swept_and_those_of_living_ones_kept(tmp_path: Path) -> None:
    left = tmp_path / "worker-left"
    left.mkdir()
    (left / "attempt").write_text("half")
    with scratch_folder(tmp_path) as first:
        assert not left.exists()
        (first / "attempt").write_text("at work")
        with scratch_folder(tmp_path) as second:
            assert (first / "attempt").exists()
            assert first != second
        assert not second.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lock"]
    with (tmp_path / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_worker_process_stands_back_and_consumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rlx_compiler.worker import process

    calls: list[Any] = []
    monkeypatch.setattr("os.nice", calls.append)
    monkeypatch.setattr("celery.Celery.worker_main", lambda self, argv: calls.append(argv))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setenv("REMAP_SIGTERM", "")
    settings = WorkerSettings(data_folder=tmp_path, nice=7)
    process.run_worker(settings, lambda *_, **__: None)  # type: ignore[arg-type]
    assert calls == [7, celery_arguments(settings)]
    assert threading.active_count() >= 1
