"""The actor's own repetition: from a start to serving, through faults, to a close that leaves nothing behind."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import httpx
import pytest

from rlx_base.errors import ClusterError
from rlx_node.actor import _forever
from tests.support.nodes import Cluster, GssInMemory, bundle, deployment, replica


async def until(condition: object) -> None:
    """Lets the actor's tasks go on until the condition holds."""
    assert callable(condition)
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.01)


async def test_a_node_that_starts_registers_loads_what_is_deployed_and_reports_it_at_once(
    cluster: Cluster, tmp_path: Path
) -> None:
    gss = GssInMemory()
    cluster.network.hosts["gss"] = httpx.MockTransport(gss)
    there = bundle(tmp_path)
    cluster.api.deploy(deployment("m", 1, there), bundles=(there,))
    node = cluster.join("a")
    await node.actor.start()
    await until(lambda: gss.reports and gss.reports[-1]["loaded"])
    assert gss.reports[-1]["loaded"][0]["model"] == "m"
    assert node.actor.ready
    cluster.api.deploy()
    await until(lambda: not gss.reports[-1]["loaded"])
    cluster.api.deploy(deployment("m", 1, there))
    await until(lambda: gss.reports[-1]["loaded"])
    await node.actor.drain()
    assert gss.reports[-1]["draining"]
    node.actor._news.set()
    await asyncio.sleep(0.05)
    assert node.actor.holdings.replicas  # the requests that still run need them
    assert not node.actor.ready
    await node.actor.close()
    assert gss.lives == {}
    assert not node.executor.ready
    assert len(asyncio.all_tasks()) == 1


async def test_a_standalone_node_serves_its_local_bundles_and_asks_nobody(cluster: Cluster, tmp_path: Path) -> None:
    there = bundle(tmp_path)
    node = cluster.join("a", cluster={"mode": "standalone"})
    node.actor.reconciler._local = {replica("m", "1", there): there}
    await node.actor.start()
    await until(lambda: node.actor.holdings.loaded())
    assert (await node.http.get("/v2/models/m/ready")).status_code == 200
    await node.actor.drain()
    await node.actor.close()
    assert cluster.api.asked == []


async def test_a_failure_is_said_once_and_its_end_too(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    outcomes = iter(
        [ClusterError("E506", url="u", reason="refused"), ClusterError("E506", url="u", reason="refused"), None]
    )

    async def step() -> float:
        outcome = next(outcomes, StopAsyncIteration())
        if isinstance(outcome, StopAsyncIteration):
            raise asyncio.CancelledError
        if outcome is not None:
            raise outcome
        return 0.0

    with pytest.raises(asyncio.CancelledError):
        await _forever("ask", step)
    assert [r.message.partition(":")[0] for r in caplog.records if r.name == "rlx.node"] == [
        "cannot ask",
        "can ask again",
    ]


async def test_a_fault_does_not_end_the_repetition(caplog: pytest.LogCaptureFixture) -> None:
    steps = 0

    async def step() -> float:
        nonlocal steps
        steps += 1
        if steps == 1:
            raise RuntimeError("a bug")
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await _forever("do", step)
    assert "a bug" in caplog.text
