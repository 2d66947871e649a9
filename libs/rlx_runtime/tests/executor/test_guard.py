"""ComputeGuard: bounded, fair, and a slot is never lost."""

import asyncio

import pytest

from rlx_base.errors import RequestError
from rlx_runtime.executor.guard import ComputeGuard


def now() -> float:
    return asyncio.get_running_loop().time()


async def test_no_more_than_the_slots_compute_at_once() -> None:
    guard = ComputeGuard("cpu:0", slots=2, queue=100)
    at_once, most = 0, 0

    async def compute() -> None:
        nonlocal at_once, most
        slot = await guard.acquire()
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0)
        at_once -= 1
        slot.release()

    await asyncio.gather(*(compute() for _ in range(50)))
    assert most == 2
    assert (guard.running, guard.waiting) == (0, 0)


async def test_the_line_is_first_come_first_served() -> None:
    guard = ComputeGuard("cpu:0", slots=1, queue=100)
    held = await guard.acquire()
    order: list[int] = []

    async def compute(number: int) -> None:
        slot = await guard.acquire()
        order.append(number)
        slot.release()

    tasks = [asyncio.create_task(compute(number)) for number in range(5)]
    await asyncio.sleep(0)
    assert (guard.running, guard.waiting) == (1, 5)
    held.release()
    await asyncio.gather(*tasks)
    assert order == [0, 1, 2, 3, 4]


async def test_a_full_line_refuses_at_once() -> None:
    guard = ComputeGuard("cpu:0", slots=1, queue=0)
    await guard.acquire()
    with pytest.raises(RequestError, match=r"cpu:0 is full: 0 requests wait") as caught:
        await guard.acquire()
    assert (caught.value.code, caught.value.status) == ("RLX-E424", 503)


async def test_a_deadline_ends_the_wait_and_names_the_phase() -> None:
    guard = ComputeGuard("cpu:0", slots=1, queue=5)
    held = await guard.acquire()
    with pytest.raises(RequestError, match=r"deadline exceeded: queue took longer than 10 ms") as caught:
        await guard.acquire(now() + 0.0101)
    assert caught.value.code == "RLX-E417"
    assert guard.waiting == 0
    held.release()
    assert guard.running == 0


async def test_one_that_is_cancelled_leaves_the_line() -> None:
    guard = ComputeGuard("cpu:0", slots=1, queue=5)
    held = await guard.acquire()
    waiting = asyncio.create_task(guard.acquire())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])
    assert guard.waiting == 0
    held.release()
    (await guard.acquire()).release()
    assert guard.running == 0


async def test_a_slot_given_to_one_that_is_cancelled_goes_on_to_the_next() -> None:
    guard = ComputeGuard("cpu:0", slots=1, queue=5)
    held = await guard.acquire()
    first, second = asyncio.create_task(guard.acquire()), asyncio.create_task(guard.acquire())
    await asyncio.sleep(0)
    held.release()  # the slot is the first one's now …
    first.cancel()  # … which goes away before it hears of it
    slot = await asyncio.wait_for(second, 1)
    assert guard.running == 1
    slot.release()
    assert guard.running == 0


async def test_releasing_twice_frees_once() -> None:
    guard = ComputeGuard("cpu:0", slots=1, queue=5)
    slot = await guard.acquire()
    slot.release()
    slot.release()
    await guard.acquire()
    assert guard.running == 1
