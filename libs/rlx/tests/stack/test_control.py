"""A stack as its user meets it: one a folder, found by others, ended by a signal, and never outlived by a child."""

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from libs.rlx.tests.stack.programs import events, pid
from rlx.stack import Ports, StackSettings, control, guard, running, state
from rlx_base.errors import ClusterError

RUN = Path(__file__).with_name("run_programs.py")


def free_base() -> int:
    """The first of five consecutive free ports."""
    for base in range(21000, 31000, 5):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if all(probe.connect_ex(("127.0.0.1", base + offset)) for offset in range(5)):
                return base
    pytest.fail("no five free ports")


class Up:
    """A stack in a process of its own."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.settings = StackSettings(data=data)
        self.process = subprocess.Popen(
            [sys.executable, RUN, data, str(free_base())], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.heard: list[str] = []

    def until_up(self) -> str:
        """Returns the marker of its processes."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.heard.append(line.rstrip())
            if line.startswith("RLX is up"):
                return next(
                    entry
                    for entry in Path(f"/proc/{pid('first', self.data)}/environ").read_text().split("\0")
                    if entry.startswith("RLX_STACK=")
                )
        pytest.fail("\n".join(self.heard))

    def end(self) -> str:
        output, _ = self.process.communicate(timeout=20)
        return output


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[], Up]]:
    started: list[Up] = []

    def make() -> Up:
        started.append(Up(tmp_path))
        return started[-1]

    yield make
    for up in started:
        up.process.kill()
        up.process.communicate()


def until_empty(marker: str) -> None:
    deadline = time.monotonic() + 15
    while left := guard.members(marker):
        assert time.monotonic() < deadline, f"left over: {left}"
        time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_all_in_order(start, tmp_path: Path, number: signal.Signals) -> None:
    up = start()
    marker = up.until_up()
    assert len(guard.members(marker)) == 3
    up.process.send_signal(number)
    assert "RLX has stopped" in up.end()
    assert up.process.returncode == 0
    assert guard.members(marker) == []
    assert events(tmp_path)[-2:] == ["second ends", "first ends"]
    assert control.status(up.settings) is None


def test_a_supervisor_that_is_killed_leaves_nothing_behind(start) -> None:
    up = start()
    marker = up.until_up()
    up.process.kill()
    until_empty(marker)
    assert control.status(up.settings) is None


def test_others_see_it_and_stop_it(start, tmp_path: Path) -> None:
    up = start()
    marker = up.until_up()
    seen = control.status(up.settings)
    assert seen is not None
    assert seen.ready
    assert seen.pid == up.process.pid
    assert {name: service.state for name, service in seen.services.items()} == {"first": "ready", "second": "ready"}
    control.down(up.settings)
    assert guard.members(marker) == []
    with pytest.raises(ClusterError, match=f"no stack runs on {tmp_path}"):
        control.down(up.settings)


def test_a_second_stack_on_the_folder_is_refused(start, tmp_path: Path) -> None:
    up = start()
    up.until_up()
    with pytest.raises(ClusterError, match=f"process {up.process.pid}") as caught:
        control.up(StackSettings(data=tmp_path))
    assert caught.value.code == "RLX-E541"
    assert f"rlx down --data {tmp_path}" in caught.value.help
    assert "rlx up --data DIR --port-base PORT" in caught.value.help


def test_a_busy_port_is_named_before_anything_starts(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as first, socket.create_server(("127.0.0.1", 0)) as second:
        api, gss = first.getsockname()[1], second.getsockname()[1]
        ports = Ports.from_base(free_base()).model_copy(update={"api": api, "gss": gss})
        with pytest.raises(ClusterError) as caught:
            control.up(StackSettings(data=tmp_path, ports=ports))
    assert caught.value.message == f"the ports are in use: {api} (api), {gss} (gss)"
    assert "--api-port PORT --gss-port PORT" in caught.value.help
    assert sorted(path.name for path in tmp_path.iterdir()) == ["logs", "stack.lock"]
    assert not list((tmp_path / "logs").iterdir())


def test_a_block_whose_stack_cannot_start_is_told_so(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        ports = Ports.free().model_copy(update={"node": busy.getsockname()[1]})
        with pytest.raises(ClusterError) as caught, running(StackSettings(data=tmp_path, ports=ports)):
            pytest.fail("a stack without its port")
    assert caught.value.code == "RLX-E544"
    assert "it ended with exit code 3" in caught.value.message


def test_a_leftover_of_a_dead_supervisor_is_no_stack(tmp_path: Path) -> None:
    with state.only_one(tmp_path):
        leftover = state.StackState(pid=1, url="http://x", ports=Ports(), started_at="2030-01-01T00:00:00Z")
        state.write_state(tmp_path, leftover)
        assert state.read_state(tmp_path) == leftover
    state.write_state(tmp_path, leftover)
    assert state.read_state(tmp_path) is None


def test_no_two_services_share_a_port() -> None:
    assert Ports.from_base(7000).redis == 7004
    with pytest.raises(ValueError, match="port 8000 is given to two services"):
        Ports(gss=8000)


def test_the_data_folder_follows_the_environment(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    assert StackSettings().data == tmp_path / "share" / "rlx"
    monkeypatch.setenv("RLX_DATA", str(tmp_path / "own"))
    assert StackSettings().data == tmp_path / "own"
