"""Services start in order, come back when they crash, and are all gone at the end."""

import asyncio
import errno
import os
import shutil
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from libs.rlx.tests.stack.programs import events, pid, program
from rlx.stack import guard, supervisor
from rlx.stack.state import ServiceState
from rlx.stack.supervisor import Service, Supervisor, ending, pause
from rlx_base.errors import ClusterError

MARKER = "RLX_STACK=test"


class Stack:
    """A supervisor whose announcements and states a test can wait for."""

    def __init__(self, folder: Path, services: list[Service]) -> None:
        self.heard: list[str] = []
        self.states: dict[str, ServiceState] = {}
        self._changed = asyncio.Event()
        self.marker = f"{MARKER}-{folder.name}"
        self.supervisor = Supervisor(services, folder, self.marker, self._hear, self._see)

    def _hear(self, line: str) -> None:
        self.heard.append(line)
        self._changed.set()

    def _see(self, states: dict[str, ServiceState]) -> None:
        self.states = states
        self._changed.set()

    async def until(self, holds: Callable[[], bool]) -> None:
        while not holds():
            self._changed.clear()
            await self._changed.wait()


@pytest.fixture
async def stacks(tmp_path: Path):
    """Makes stacks, and leaves no process of theirs."""
    made: list[Stack] = []

    def make(*services: Service) -> Stack:
        made.append(Stack(tmp_path, list(services)))
        return made[-1]

    yield make
    for stack in made:
        await stack.supervisor.stop()
        assert guard.members(stack.marker) == []


async def test_a_stage_starts_when_the_one_before_is_ready_and_ends_before_it(tmp_path: Path, stacks) -> None:
    stack = stacks(program("last", tmp_path, 2), program("first", tmp_path, 0), program("middle", tmp_path, 1))
    await stack.supervisor.start()
    assert stack.heard == [f"{name:<12} somewhere/{name}" for name in ("first", "middle", "last")]
    assert {state.state for state in stack.states.values()} == {"ready"}
    await stack.supervisor.stop()
    assert events(tmp_path) == [
        *("first starts", "middle starts", "last starts"),
        *("last ends", "middle ends", "first ends"),
    ]
    assert {state.state for state in stack.states.values()} == {"stopped"}


async def test_a_service_that_is_killed_starts_again_and_that_is_said(tmp_path: Path, stacks) -> None:
    stack = stacks(program("one", tmp_path, 0), program("other", tmp_path, 0))
    await stack.supervisor.start()
    killed, other = pid("one", tmp_path), pid("other", tmp_path)
    (tmp_path / "one.pid").unlink()
    os.kill(killed, signal.SIGKILL)
    await stack.until(lambda: "one is back" in stack.heard)
    assert any("one was ended by SIGKILL; it starts again in 0.5 s" in line for line in stack.heard)
    assert stack.states["one"].restarts == 1
    assert stack.states["one"].pid == pid("one", tmp_path) != killed
    assert stack.states["other"].pid == other


async def test_what_a_service_needs_is_made_again_before_it_starts_again(tmp_path: Path, stacks) -> None:
    configuration = tmp_path / "configuration"
    stack = stacks(replace(program("one", tmp_path, 0), prepare=configuration.touch))
    await stack.supervisor.start()
    configuration.unlink()
    killed = pid("one", tmp_path)
    (tmp_path / "one.pid").unlink()
    os.kill(killed, signal.SIGKILL)
    await stack.until(lambda: "one is back" in stack.heard)
    assert configuration.exists()


async def test_a_service_comes_back_although_its_folder_of_logs_is_gone(tmp_path: Path, stacks) -> None:
    stack = stacks(program("one", tmp_path, 0))
    logs = stack.supervisor.keepers[0].log = tmp_path / "logs" / "one.log"
    await stack.supervisor.start()
    shutil.rmtree(logs.parent)
    (tmp_path / "one.pid").rename(tmp_path / "killed")
    os.kill(int((tmp_path / "killed").read_text()), signal.SIGKILL)
    await stack.until(lambda: "one is back" in stack.heard)
    assert logs.exists()


async def test_a_disk_that_cannot_be_written_is_said_and_tried_again(tmp_path: Path, stacks) -> None:
    def refuse() -> None:
        if (tmp_path / "full").exists():
            (tmp_path / "full").unlink()
            raise OSError(errno.ENOSPC, "No space left on device")

    stack = stacks(replace(program("one", tmp_path, 0), prepare=refuse))
    await stack.supervisor.start()
    (tmp_path / "full").touch()
    killed = pid("one", tmp_path)
    (tmp_path / "one.pid").unlink()
    os.kill(killed, signal.SIGKILL)
    await stack.until(lambda: "one is back" in stack.heard)
    assert any("one did not start: [Errno 28] No space left on device" in line for line in stack.heard)


async def test_a_service_that_cannot_start_fails_the_start_with_its_last_words(tmp_path: Path, stacks) -> None:
    stack = stacks(program("good", tmp_path, 0), program("bad", tmp_path, 1, "broken"), program("never", tmp_path, 2))
    with pytest.raises(ClusterError) as caught:
        await stack.supervisor.start()
    assert caught.value.code == "RLX-E544"
    assert "bad did not start: ended with exit code 7" in caught.value.message
    assert "I cannot work like this" in str(caught.value.caused_by)
    assert str(tmp_path / "bad.log") in caught.value.help
    assert events(tmp_path) == ["good starts"]


async def test_a_service_that_is_never_ready_fails_the_start(tmp_path: Path, stacks, monkeypatch) -> None:
    monkeypatch.setattr(supervisor, "START_SECONDS", 0.3)

    async def never() -> bool:
        return False

    hung = Service("hung", program("hung", tmp_path, 0).command, never, 0)
    with pytest.raises(ClusterError, match="it is not ready after"):
        await stacks(hung).supervisor.start()


async def test_a_service_that_does_not_end_by_itself_is_killed(tmp_path: Path, stacks, monkeypatch) -> None:
    monkeypatch.setattr(supervisor, "GRACE_SECONDS", 0.1)
    stack = stacks(program("mule", tmp_path, 0, "stubborn"))
    await stack.supervisor.start()
    await stack.supervisor.stop()
    assert "mule does not end by itself and is killed" in stack.heard
    assert guard.members(stack.marker) == []


async def test_a_child_in_a_session_of_its_own_is_ended_too(tmp_path: Path, stacks) -> None:
    stack = stacks(program("parent", tmp_path, 0, "orphan"))
    await stack.supervisor.start()
    orphan = int((tmp_path / "orphan").read_text())
    assert set(guard.members(stack.marker)) == {orphan, pid("parent", tmp_path)}
    await stack.supervisor.stop()
    assert guard.members(stack.marker) == []


def test_the_pause_grows_and_stays_bounded() -> None:
    assert [pause(failures) for failures in (1, 2, 3, 4, 5, 6, 60)] == [0.5, 1, 2, 4, 8, 10, 10]


def test_an_ending_is_said_in_words() -> None:
    assert ending(3) == "ended with exit code 3"
    assert ending(-15) == "was ended by SIGTERM"
    assert ending(-63) == "was ended by signal 63"
