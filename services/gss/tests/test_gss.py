"""The Global State Service as nodes and observers meet it over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx
import pytest

from rlx_base.errors import ClusterError
from rlx_gss.app import create_app
from rlx_gss.settings import GssSettings
from rlx_wire.nodes import NodeRecord, NodesView


class Memory:
    """A store whose failures tests decide."""

    def __init__(self) -> None:
        self.records: dict[str, NodeRecord] = {}
        self.broken = False

    async def load(self) -> list[NodeRecord]:
        self._check()
        return list(self.records.values())

    async def save(self, records: Mapping[str, NodeRecord]) -> None:
        self._check()
        self.records |= records

    async def close(self) -> None:
        pass

    def _check(self) -> None:
        if self.broken:
            raise ClusterError("E508", reason="broken", url="memory")


class Replica:
    """One process of the service: a new one on the same store is a restart."""

    def __init__(self, store: Memory, clock: Any, key: str | None = None) -> None:
        settings = GssSettings.model_validate({"api_key": key})
        self.app = create_app(settings, store, clock)
        self.registry = self.app.state.registry
        self.http = httpx.AsyncClient(transport=httpx.ASGITransport(self.app), base_url="http://localhost")

    async def join(self, node: str = "a") -> int:
        """Registers and reports once: from then on it is seen."""
        life = await self.register(node)
        assert await self.report(node, life, 1) == 204
        return life

    async def register(self, node: str = "a", last: int = 0) -> int:
        body = {
            "id": node,
            "last_incarnation": last,
            "addresses": {"http": f"http://{node}"},
            "capabilities": {"cpu": "x86-64-v3"},
        }
        answer = await self.http.post("/v1/nodes", json=body)
        assert answer.status_code == 200, answer.text
        return int(answer.json()["incarnation"])

    async def report(self, node: str, incarnation: int, sequence: int, **more: Any) -> int:
        body = {"incarnation": incarnation, "sequence": sequence, **more}
        return (await self.http.put(f"/v1/nodes/{node}/status", json=body)).status_code

    async def view(self, **params: Any) -> NodesView:
        answer = await self.http.get("/v1/nodes", params=params)
        assert answer.status_code == 200, answer.text
        return NodesView.model_validate_json(answer.content)


@pytest.fixture
async def store() -> Memory:
    return Memory()


@pytest.fixture
async def gss(store: Memory, clock: Any) -> AsyncIterator[Replica]:
    replica = Replica(store, clock)
    yield replica
    await replica.http.aclose()


async def test_a_node_registers_reports_and_is_seen(gss: Replica, clock: Any) -> None:
    life = await gss.register()
    assert await gss.report("a", life, 1, queue_depth=3) == 204
    clock.now += 0.25
    (node,) = (await gss.view()).nodes
    assert node.liveness == "alive"
    assert node.age_ms == 250
    assert node.record.status is not None
    assert node.record.status.queue_depth == 3


async def test_a_node_that_has_not_reported_yet_is_not_available(gss: Replica) -> None:
    life = await gss.register()
    assert (await gss.view()).nodes == ()
    await gss.report("a", life, 1)
    assert len((await gss.view()).nodes) == 1


async def test_every_registration_is_a_new_life_that_follows_all_earlier_ones(gss: Replica) -> None:
    assert [await gss.register(), await gss.register(), await gss.register(last=7)] == [1, 2, 8]


async def test_the_largest_numbers_that_are_taken_leave_room_to_count_on(
    gss: Replica, store: Memory, clock: Any
) -> None:
    life = await gss.register(last=2**52)
    assert [life, await gss.register()] == [2**52 + 1, 2**52 + 2]
    assert await gss.report("a", life + 1, 2**52) == 204
    assert await gss.report("a", life + 1, 2**52 + 1) == 422
    assert (await gss.http.delete("/v1/nodes/a", params={"incarnation": life + 1})).status_code == 204
    again = Replica(store, clock)  # what was kept can be read again
    await again.registry.restore()
    assert await again.register() == life + 2
    await again.http.aclose()


async def test_a_status_of_an_unknown_node_or_life_asks_it_to_register_again(gss: Replica) -> None:
    assert await gss.report("a", 1, 1) == 409
    life = await gss.register()
    assert await gss.report("a", life + 1, 1) == 409
    assert await gss.report("a", life, 1) == 204


async def test_a_silent_node_becomes_suspect_and_down_and_is_back_with_its_next_report(
    gss: Replica, clock: Any
) -> None:
    life = await gss.join()
    seen = []
    for silence in (1.4, 0.2, 1.5):
        clock.now += silence
        seen.append((await gss.view()).nodes[0].liveness)
    assert seen == ["alive", "suspect", "down"]
    await gss.report("a", life, 2)
    assert (await gss.view()).nodes[0].liveness == "alive"


async def test_a_long_poll_is_held_until_something_changes(gss: Replica) -> None:
    before = await gss.view()
    poll = asyncio.create_task(gss.view(version=before.version, epoch=before.epoch, wait=30))
    await asyncio.sleep(0)
    assert not poll.done()
    await gss.join()
    assert (await poll).version > before.version


async def test_a_long_poll_is_woken_when_a_node_falls_silent(gss: Replica, clock: Any) -> None:
    await gss.join()
    before = await gss.view()
    poll = asyncio.create_task(gss.view(version=before.version, epoch=before.epoch, wait=30))
    await asyncio.sleep(0)
    clock.now += 2
    gss.registry.tick()
    assert (await poll).nodes[0].liveness == "suspect"


async def test_a_long_poll_about_another_life_of_the_service_or_a_past_version_returns_at_once(gss: Replica) -> None:
    await gss.join()
    view = await gss.view()
    assert await gss.view(version=10**6, epoch="another", wait=30) == view
    assert await gss.view(version=view.version - 1, epoch=view.epoch, wait=30) == view


async def test_a_long_poll_ends_with_the_same_view_when_nothing_happens(gss: Replica) -> None:
    before = await gss.view()
    assert await gss.view(version=before.version, epoch=before.epoch, wait=0.01) == before


async def test_a_node_that_leaves_is_gone_and_a_late_status_does_not_bring_it_back(gss: Replica) -> None:
    life = await gss.register()
    assert (await gss.http.delete(f"/v1/nodes/a?incarnation={life}")).status_code == 204
    assert (await gss.view()).nodes == ()
    assert await gss.report("a", life, 99) == 409
    assert await gss.register() == life + 1


async def test_an_operator_removes_what_is_down_and_nothing_that_lives(gss: Replica, clock: Any) -> None:
    assert (await gss.http.delete("/v1/nodes/a")).status_code == 409
    life = await gss.register()
    living = await gss.http.delete("/v1/nodes/a")
    assert living.status_code == 409
    assert living.json()["code"] == "RLX-E509"
    assert (await gss.http.delete(f"/v1/nodes/a?incarnation={life + 1}")).status_code == 409
    clock.now += 60
    assert (await gss.http.delete("/v1/nodes/a")).status_code == 204
    assert (await gss.view()).nodes == ()


async def test_a_restarted_service_finds_its_nodes_and_their_lives_again(store: Memory, clock: Any) -> None:
    first = Replica(store, clock)
    life = await first.register()
    await first.report("a", life, 5, queue_depth=2)
    second = Replica(store, clock)
    await second.registry.restore()
    (node,) = (await second.view()).nodes
    assert node.record.sequence == 5
    assert await second.report("a", life, 6) == 204
    assert (await second.view()).epoch != (await first.view()).epoch
    await first.http.aclose()
    await second.http.aclose()


async def test_a_service_that_lost_everything_is_rebuilt_by_the_nodes(clock: Any) -> None:
    emptied = Replica(Memory(), clock)
    assert await emptied.report("a", 3, 17) == 409
    assert await emptied.register(last=3) == 4
    assert await emptied.report("a", 4, 1) == 204
    await emptied.http.aclose()


async def test_without_its_store_the_service_answers_on_and_writes_all_when_it_is_back(
    gss: Replica, store: Memory
) -> None:
    store.broken = True
    await gss.registry.restore()
    life = await gss.join("a")
    await gss.join("b")
    assert len((await gss.view()).nodes) == 2
    store.broken = False
    assert await gss.report("a", life, 2) == 204
    assert set(store.records) == {"a", "b"}


async def test_wrong_requests_are_problems(gss: Replica) -> None:
    wrong = await gss.http.post("/v1/nodes", json={"id": "a/b"})
    assert wrong.status_code == 422
    assert wrong.headers["content-type"] == "application/problem+json"
    problem = wrong.json()
    assert problem["code"] == "RLX-E433"
    assert {"body.id", "body.addresses"} <= {v["field"] for v in problem["violations"]}
    assert problem["request_id"] == wrong.headers["x-request-id"]
    assert (await gss.http.get("/v1/nowhere")).json()["code"] == "RLX-E422"
    assert (await gss.http.patch("/v1/nodes")).json()["code"] == "RLX-E439"


async def test_with_a_key_every_route_but_health_asks_for_it(store: Memory, clock: Any) -> None:
    locked = Replica(store, clock, key="secret")
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic secret"}):
        refused = await locked.http.get("/v1/nodes", headers=headers)
        assert refused.status_code == 401
        assert refused.json()["code"] == "RLX-E418"
    assert (await locked.http.get("/v1/nodes", headers={"Authorization": "Bearer secret"})).status_code == 200
    for path in ("/docs", "/openapi.json", "/nowhere"):
        assert (await locked.http.get(path)).status_code == 401
    assert (await locked.http.get("/v2/health/live")).status_code == 200
    await locked.http.aclose()


async def test_without_a_key_only_this_machines_own_programs_are_answered(gss: Replica) -> None:
    for headers in ({"Host": "evil.example"}, {"Host": "[::1"}, {"Origin": "https://evil.example"}):
        refused = await gss.http.get("/v1/nodes", headers=headers)
        assert refused.status_code == 403
        assert refused.json()["code"] == "RLX-E438"
    assert (await gss.http.get("/v1/nodes", headers={"Origin": "http://localhost"})).status_code == 200
