"""Bodies end at their limit, packed and unpacked."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib
from collections.abc import AsyncIterator

import httpx
import pytest
from fastapi import FastAPI, Request

from rlx_wire.service.bodies import BodyLimit
from rlx_wire.service.problems import answer_problems

LIMIT = 4 << 20


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    app = FastAPI()
    app.add_middleware(BodyLimit, limit_of=lambda *_: (LIMIT, "max_bytes"))
    answer_problems(app)

    @app.post("/size")
    async def size(request: Request) -> list[object]:
        length, pieces = 0, 0
        async for piece in request.stream():
            length, pieces = length + len(piece), max(pieces, len(piece))
        return [length, pieces, sorted({"content-encoding", "content-length"} & set(request.headers))]

    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as client:
        yield client


def packed(coding: str, plain: bytes) -> bytes:
    return gzip.compress(plain) if coding == "gzip" else zlib.compress(plain)


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
@pytest.mark.parametrize("size", [0, 1, 1 << 20, LIMIT])
async def test_routes_see_the_plain_body(http: httpx.AsyncClient, coding: str, size: int) -> None:
    answer = await http.post("/size", content=packed(coding, b"x" * size), headers={"Content-Encoding": coding})
    length, largest, seen = answer.json()
    assert (length, seen) == (size, [])
    assert largest <= 1 << 20


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
async def test_a_bomb_ends_at_the_limit_and_never_grows(http: httpx.AsyncClient, coding: str) -> None:
    bomb = packed(coding, bytes(256 << 20))
    assert len(bomb) < 1 << 20
    tracemalloc.start()
    answer = await http.post("/size", content=bomb, headers={"Content-Encoding": coding})
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (answer.status_code, answer.json()["code"]) == (413, "RLX-E431")
    assert peak < 16 << 20


async def test_a_plain_body_ends_at_the_limit_too(http: httpx.AsyncClient) -> None:
    assert (await http.post("/size", content=bytes(LIMIT))).json()[0] == LIMIT
    assert (await http.post("/size", content=bytes(LIMIT + 1))).status_code == 413

    async def stream() -> AsyncIterator[bytes]:
        for _ in range(5):
            yield bytes(1 << 20)

    assert (await http.post("/size", content=stream())).status_code == 413


async def test_pieces_of_a_packed_body_may_be_cut_anywhere(http: httpx.AsyncClient) -> None:
    whole = packed("gzip", bytes(range(256)) * 100)

    async def bytewise() -> AsyncIterator[bytes]:
        for at in range(len(whole)):
            yield whole[at : at + 1]
        yield b""

    answer = await http.post("/size", content=bytewise(), headers={"Content-Encoding": "GZIP"})
    assert answer.json()[0] == 25_600


@pytest.mark.parametrize(
    "body",
    [b"no gzip", b"", gzip.compress(b"x" * 99)[:-1], gzip.compress(b"x") + b"left over"],
    ids=["other", "empty", "cut", "longer"],
)
async def test_a_body_that_is_not_what_it_says_is_refused(http: httpx.AsyncClient, body: bytes) -> None:
    answer = await http.post("/size", content=body, headers={"Content-Encoding": "gzip"})
    assert (answer.status_code, answer.json()["code"]) == (400, "RLX-E419")


@pytest.mark.parametrize("coding", ["br", "gzip, gzip", "zstd"])
async def test_other_codings_are_refused_before_the_body_is_read(http: httpx.AsyncClient, coding: str) -> None:
    answer = await http.post("/size", content=b"x", headers={"Content-Encoding": coding})
    assert (answer.status_code, answer.json()["code"]) == (415, "RLX-E442")
