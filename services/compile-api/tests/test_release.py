"""A service that ends does not wait for those who wait for news."""

import asyncio
import time

from rlx_compile_api.bell import Bell


async def test_who_listens_is_released_when_the_service_ends() -> None:
    bell = Bell()
    bell.attach()
    with bell.listen() as listener:
        waiting = asyncio.create_task(listener.heard(60))
        await asyncio.sleep(0)
        began = time.monotonic()
        bell.close()
        await waiting
    assert bell.closed
    assert time.monotonic() - began < 5
