"""The records of a replica in a real Redis: found again after a restart, written again after it was emptied."""

from __future__ import annotations

from typing import Any

import pytest

from rlx_base.errors import ClusterError
from rlx_gss.registry import Registry
from rlx_gss.store import RedisStore
from rlx_wire.nodes import Addresses, Capabilities, NodeRegistration, NodeStatus

NODE = NodeRegistration(id="a", addresses=Addresses(http="http://a"), capabilities=Capabilities(cpu="x86-64-v3"))


async def test_records_outlive_the_process(redis: Any, clock: Any) -> None:
    store = RedisStore(redis.url)
    life = (await Registry(store, clock).register(NODE)).incarnation
    again = Registry(store, clock)
    await again.restore()
    await again.report("a", NodeStatus(incarnation=life, sequence=1))
    assert [r.sequence for r in await store.load()] == [1]
    await store.close()


async def test_a_redis_that_comes_back_empty_is_filled_by_the_next_reports(redis: Any, clock: Any) -> None:
    store = RedisStore(redis.url)
    registry = Registry(store, clock)
    life = (await registry.register(NODE)).incarnation
    redis.kill()
    await registry.report("a", NodeStatus(incarnation=life, sequence=1))  # a warning in the log, no failure
    with pytest.raises(ClusterError, match="E508"):
        await store.load()
    redis.forget()
    redis.start()
    assert await store.load() == []
    await registry.report("a", NodeStatus(incarnation=life, sequence=2))
    assert [r.sequence for r in await store.load()] == [2]
    await store.close()


async def test_a_row_of_another_release_is_passed_over(redis: Any) -> None:
    store = RedisStore(redis.url)
    await store._redis.hset("rlx:gss:nodes", mapping={"a": b'{"format": 99}'})
    assert await store.load() == []
    await store.close()
