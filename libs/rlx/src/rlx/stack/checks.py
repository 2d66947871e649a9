"""Asks a service whether it is ready, each kind in its own protocol. A service that cannot be reached is not."""

from __future__ import annotations

import asyncio

from rlx.stack.settings import HOST

__all__ = ["http_ready", "redis_ready", "worker_ready"]

ANSWER_SECONDS = 2.0


async def _exchange(port: int, question: bytes, lines: int) -> list[bytes]:
    """Sends `question` and reads that many lines; fewer where the other side ends or does not answer in time."""
    answer: list[bytes] = []
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            reader, writer = await asyncio.open_connection(HOST, port)
            try:
                writer.write(question)
                while len(answer) < lines and (line := await reader.readline()):
                    answer.append(line.strip())
            finally:
                writer.close()
                await writer.wait_closed()
    except (OSError, TimeoutError):
        pass
    return answer


async def http_ready(port: int, path: str = "/v2/health/live") -> bool:
    """Whether `GET path` is answered with 200."""
    question = f"GET {path} HTTP/1.1\r\nHost: {HOST}:{port}\r\nConnection: close\r\n\r\n"
    return any(b" 200 " in line + b" " for line in await _exchange(port, question.encode(), lines=1))


async def redis_ready(port: int, password: str) -> bool:
    """Whether the server takes the password and has loaded its data."""
    return await _exchange(port, f"AUTH {password}\r\nPING\r\n".encode(), lines=2) == [b"+OK", b"+PONG"]


async def worker_ready(port: int, password: str) -> bool:
    """Whether a compile worker waits for messages: it listens nowhere itself, but Redis knows who waits."""
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            reader, writer = await asyncio.open_connection(HOST, port)
            try:
                writer.write(f"AUTH {password}\r\nCLIENT LIST\r\n".encode())
                if await reader.readline() != b"+OK\r\n":
                    return False
                size = int((await reader.readline()).removeprefix(b"$"))
                return b"cmd=brpop" in await reader.readexactly(size)
            finally:
                writer.close()
                await writer.wait_closed()
    except (OSError, TimeoutError, ValueError, asyncio.IncompleteReadError):
        return False
