"""The stack's own Redis asks for its password and keeps its data; a service is ready only when it says so."""

import asyncio
import shutil
import socket
import stat
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from rlx.stack import guard, redis_server
from rlx.stack.checks import http_ready, redis_ready, worker_ready
from rlx_base.errors import ClusterError


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


@asynccontextmanager
async def redis(folder: Path, port: int):
    process = await asyncio.create_subprocess_exec(
        redis_server.find_redis_server(),
        redis_server.write_configuration(folder, port, redis_server.redis_password(folder)),
        stdout=-3,
        env={"RLX_STACK": folder.name},
    )
    password = redis_server.redis_password(folder)
    while not await redis_ready(port, password):
        assert process.returncode is None
        await asyncio.sleep(0.01)
    yield password
    process.kill()
    await process.wait()


async def command(port: int, *lines: str) -> list[bytes]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write("".join(f"{line}\r\n" for line in lines).encode())
    answers = [(await reader.readline()).strip() for _ in lines]
    writer.close()
    await writer.wait_closed()
    return answers


async def test_redis_takes_its_password_only_and_keeps_its_data_when_killed(tmp_path: Path) -> None:
    port = free_port()
    async with redis(tmp_path, port) as password:
        assert not await redis_ready(port, "guessed")
        assert len(guard.members(f"RLX_STACK={tmp_path.name}")) == 1
        assert (await command(port, "SET job 1"))[0].startswith(b"-NOAUTH")
        kept = await command(port, f"AUTH {password}", "CONFIG SET appendfsync always", "SET job 1")
        assert kept == [b"+OK"] * 3
    async with redis(tmp_path, port) as again:
        assert again == password
        assert await command(port, f"AUTH {password}", "STRLEN job") == [b"+OK", b":1"]


async def test_a_worker_is_ready_when_it_waits_for_messages(tmp_path: Path) -> None:
    port = free_port()
    async with redis(tmp_path, port) as password:
        assert not await worker_ready(port, password)
        assert not await worker_ready(port, "guessed")
        _, waiting = await asyncio.open_connection("127.0.0.1", port)
        waiting.write(f"AUTH {password}\r\nBRPOP compile.llvm 30\r\n".encode())
        while not await worker_ready(port, password):
            await asyncio.sleep(0.01)
        waiting.close()
        await waiting.wait_closed()
    assert not await worker_ready(port, password)


def test_the_password_can_be_read_by_its_owner_only(tmp_path: Path) -> None:
    path = redis_server.write_configuration(tmp_path, 1, redis_server.redis_password(tmp_path))
    assert redis_server.redis_password(tmp_path) in path.read_text()
    for file in (path, tmp_path / "password"):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_the_configuration_can_be_written_again_where_its_folder_is_gone(tmp_path: Path) -> None:
    path = redis_server.write_configuration(tmp_path / "redis", 1, "known")
    path.unlink()
    path.parent.rmdir()
    assert "requirepass known" in redis_server.write_configuration(tmp_path / "redis", 1, "known").read_text()


def test_the_redis_of_the_system_comes_first_then_that_of_the_wheel(monkeypatch, tmp_path: Path) -> None:
    for name in ("valkey-server", "redis-server"):
        (tmp_path / name).touch(mode=0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "none" / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert redis_server.find_redis_server() == tmp_path / "valkey-server"
    (tmp_path / "valkey-server").unlink()
    assert redis_server.find_redis_server() == tmp_path / "redis-server"
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    monkeypatch.setattr(redis_server, "find_spec", lambda _: None)
    with pytest.raises(ClusterError, match="no Redis server is found"):
        redis_server.find_redis_server()


@pytest.mark.parametrize(
    ("answer", "ready"),
    [(b"HTTP/1.1 200 OK\r\n\r\n", True), (b"HTTP/1.1 503 Service Unavailable\r\n\r\n", False), (b"", False)],
)
async def test_a_service_is_ready_when_it_answers_200(answer: bytes, ready: bool) -> None:
    asked: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(answer)
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        assert await http_ready(server.sockets[0].getsockname()[1], "/v2/health/live") is ready
    assert asked[0].startswith(b"GET /v2/health/live HTTP/1.1\r\n")


async def test_a_service_that_does_not_listen_is_not_ready() -> None:
    assert not await http_ready(free_port())
    assert not await redis_ready(free_port(), "x")
