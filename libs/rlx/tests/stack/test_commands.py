"""`rlx up`, `rlx status` and `rlx down` as they are typed."""

import json
import socket
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from rlx.cli import app
from rlx.stack import Ports, StackSettings, control
from rlx.stack.state import ServiceState, StackState, only_one, write_state
from rlx_base.errors import ClusterError


def rlx(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[StackSettings]:
    """What `rlx up` was asked for; nothing is started."""
    settings: list[StackSettings] = []
    monkeypatch.setattr("rlx.stack.up", lambda wanted, announce: settings.append(wanted))
    return settings


def test_up_takes_its_folder_and_ports_from_the_options(asked: list[StackSettings], tmp_path: Path) -> None:
    assert rlx("up", "--data", tmp_path, "--port-base", 18000, "--redis-port", 7000).exit_code == 0
    assert asked == [
        StackSettings(data=tmp_path, ports=Ports(api=18000, scheduler=18001, node=18002, gss=18003, redis=7000))
    ]


def test_up_without_options_takes_the_known_ports(
    asked: list[StackSettings], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RLX_DATA", str(tmp_path))
    assert rlx("up").exit_code == 0
    assert asked == [StackSettings(data=tmp_path, ports=Ports())]


def test_a_port_given_twice_is_refused(asked: list[StackSettings]) -> None:
    answer = rlx("up", "--api-port", 9000)
    assert answer.exit_code == 2
    assert "port 9000 is given to two services" in answer.output
    assert asked == []


def test_up_names_a_busy_port(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
        answer = rlx("up", "--data", tmp_path, "--api-port", port)
    assert isinstance(answer.exception, ClusterError)
    assert f"{port} (api)" in answer.exception.message
    assert "--api-port PORT" in answer.exception.help


def test_status_says_that_nothing_runs(tmp_path: Path) -> None:
    assert rlx("status", "--data", tmp_path).output == f"no stack runs on {tmp_path}\n"
    answer = rlx("status", "--data", tmp_path, "--json")
    assert answer.exit_code == 1
    assert json.loads(answer.output) == {"running": False, "data": str(tmp_path)}


def test_status_shows_each_service(tmp_path: Path) -> None:
    services = {
        "redis": ServiceState(state="ready", pid=2, address="127.0.0.1:6390"),
        "node": ServiceState(state="starting", pid=3, restarts=2, address="http://127.0.0.1:8090"),
    }
    state = StackState(
        pid=1, url="http://127.0.0.1:8000", ports=Ports(), started_at="2030-01-01T00:00:00Z", services=services
    )
    with only_one(tmp_path):
        write_state(tmp_path, state)
        answer = rlx("status", "--data", tmp_path)
        assert answer.exit_code == 0
        assert answer.output.splitlines() == [
            "RLX is starting: http://127.0.0.1:8000  (process 1)",
            "redis        ready     127.0.0.1:6390",
            "node         starting  http://127.0.0.1:8090  restarted 2 times",
        ]
        assert json.loads(rlx("status", "--data", tmp_path, "--json").output)["services"]["node"]["restarts"] == 2


def test_down_says_that_nothing_runs(tmp_path: Path) -> None:
    answer = rlx("down", "--data", tmp_path)
    assert isinstance(answer.exception, ClusterError)
    assert answer.exception.message == f"no stack runs on {tmp_path}"


def test_down_says_that_the_stack_has_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[StackSettings] = []
    monkeypatch.setattr("rlx.stack.down", asked.append)
    assert rlx("down", "--data", tmp_path).output == "RLX has stopped\n"
    assert asked == [StackSettings(data=tmp_path)]


def test_down_gives_up_on_a_stack_that_does_not_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "DOWN_SECONDS", 0.1)
    monkeypatch.setattr(control.os, "kill", lambda pid, number: None)
    state = StackState(pid=1, url="http://x", ports=Ports(), started_at="2030-01-01T00:00:00Z")
    with only_one(tmp_path):
        write_state(tmp_path, state)
        with pytest.raises(ClusterError, match=r"process 1.* has not ended"):
            control.down(StackSettings(data=tmp_path))
