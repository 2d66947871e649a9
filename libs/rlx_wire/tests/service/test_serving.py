"""A service as a process and on the wire: ports, logs, request ids, faults."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from rlx_base.errors import ClusterError
from rlx_wire.service.logs import JsonLines, RequestIds, current_request_id
from rlx_wire.service.problems import answer_problems
from rlx_wire.service.process import bind

PROGRAM = """
from fastapi import FastAPI
from rlx_wire.service.process import run_service
from rlx_wire.service.settings import ServiceSettings
app = FastAPI()
@app.get("/")
async def root() -> str: return "here"
run_service("test", ServiceSettings, lambda settings: app)
"""


def start(*arguments: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "RLX_LOG": "info"}
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments], stderr=subprocess.PIPE, text=True, env=environment
    )


def test_a_busy_port_is_said_clearly() -> None:
    with bind("127.0.0.1:0") as held:
        port = held.getsockname()[1]
        with pytest.raises(ClusterError, match=rf"cannot listen on 127.0.0.1:{port}: Address already in use"):
            bind(f"127.0.0.1:{port}")
        process = start("--bind-addr", f"127.0.0.1:{port}")
        _, said = process.communicate(timeout=60)
    assert process.returncode == 3
    assert "RLX-E510" in said


def test_wrong_settings_end_the_process_with_2_and_the_reason() -> None:
    process = start("--bind-addr", "0.0.0.0:0")
    _, said = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "no key is set" in said


def test_a_service_serves_until_it_is_told_to_end_and_logs_json() -> None:
    process = start()
    assert process.stderr is not None
    lines = []
    for line in process.stderr:
        lines.append(json.loads(line))
        if "listens on" in lines[-1]["message"]:
            break
    url = lines[-1]["message"].rpartition(" ")[2]
    assert httpx.get(url).json() == "here"
    process.send_signal(signal.SIGTERM)
    _, rest = process.communicate(timeout=60)
    lines += [json.loads(line) for line in rest.splitlines()]
    assert process.returncode in (0, -signal.SIGTERM)
    assert all({"time", "level", "logger", "message"} <= line.keys() for line in lines)


@pytest.fixture
def app() -> FastAPI:
    app = FastAPI()
    app.add_middleware(RequestIds)
    answer_problems(app)

    @app.get("/id")
    async def request_id() -> str | None:
        return current_request_id()

    @app.get("/fault")
    async def fault() -> None:
        raise RuntimeError("broken")

    @app.get("/busy")
    async def busy() -> None:
        raise ClusterError("E507", node="a", state="draining")

    return app


def client(app: FastAPI) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url="http://test")


async def test_a_request_keeps_its_id_or_gets_one(app: FastAPI) -> None:
    async with client(app) as http:
        given = await http.get("/id", headers={"X-Request-Id": "from-outside"})
        assert given.json() == given.headers["x-request-id"] == "from-outside"
        for unfit in ("", "two words", "x" * 200):
            drawn = await http.get("/id", headers={"X-Request-Id": unfit})
            assert drawn.json() == drawn.headers["x-request-id"]
            assert len(drawn.json()) == 32
    assert current_request_id() is None


async def test_a_fault_is_a_problem_too(app: FastAPI) -> None:
    async with client(app) as http:
        answer = await http.get("/fault")
    assert answer.status_code == 500
    problem: dict[str, Any] = answer.json()
    assert problem["code"] == "RLX-E900"
    assert "RuntimeError: broken" in problem["detail"]
    assert problem["error"] == problem["detail"]  # what clients of the Open Inference Protocol read


async def test_unavailable_says_when_to_come_again(app: FastAPI) -> None:
    async with client(app) as http:
        answer = await http.get("/busy")
    assert answer.status_code == 503
    assert int(answer.headers["retry-after"]) > 0


def test_a_log_line_is_one_json_object_with_its_extras() -> None:
    record = logging.makeLogRecord({"msg": "a %s", "args": ("b",), "levelname": "INFO", "name": "n", "status": 3})
    line = json.loads(JsonLines().format(record))
    assert line["message"] == "a b"
    assert line["status"] == 3
    try:
        raise ValueError("why")
    except ValueError:
        record = logging.makeLogRecord({"msg": "x", "exc_info": sys.exc_info()})
    assert "ValueError: why" in json.loads(JsonLines().format(record))["exception"]
