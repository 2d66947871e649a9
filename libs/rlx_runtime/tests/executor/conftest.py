"""What the executor's tests look at from outside: processes, memory, descriptors."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from rlx_runtime import Executor


@pytest.fixture
async def executor() -> AsyncIterator[Executor]:
    async with Executor(threads=2) as started:
        yield started


@pytest.fixture
async def no_leftovers() -> Callable[[], None]:
    """Checks that this process has the descriptors, mappings and children that it had when the test began.

    Async, so that the event loop's own descriptors are there before the first look.
    """

    def level() -> tuple[int, int, list[str]]:
        mappings = Path("/proc/self/maps").read_text().count("rlx-tensors")
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        return len(os.listdir("/proc/self/fd")), mappings, children

    before = level()

    def check() -> None:
        assert level() == before

    return check


@pytest.fixture
def until() -> Callable[[Callable[[], bool]], Awaitable[None]]:
    """`await until(condition)`: for states of other processes, which send no event."""

    async def wait(condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(20):
            while not condition():
                await asyncio.sleep(0.005)

    return wait
