"""A node's life with the GSS: registered, reported, forgotten, found again; and without it."""

from __future__ import annotations

import httpx
import pytest

from rlx_base.errors import ClusterError
from rlx_wire.nodes import NodesView, NodeView
from tests.support.nodes import Cluster, GssInMemory, Node


@pytest.fixture
def gss(cluster: Cluster) -> GssInMemory:
    gss = GssInMemory()
    cluster.network.hosts["gss"] = httpx.MockTransport(gss)
    return gss


@pytest.fixture
def alone(cluster: Cluster) -> Node:
    return cluster.join("a")


async def test_a_node_registers_once_and_its_sequence_grows(gss: GssInMemory, alone: Node) -> None:
    for _ in range(3):
        await alone.actor.gss.beat()
    assert [(r["incarnation"], r["sequence"]) for r in gss.reports] == [(1, 1), (1, 2), (1, 3)]
    assert alone.actor.gss.heartbeat == 0.25


async def test_a_restarted_node_is_a_new_life_even_where_the_gss_forgot(
    gss: GssInMemory, alone: Node, cluster: Cluster
) -> None:
    await alone.actor.gss.beat()
    gss.lives.clear()
    again = cluster.join("a")
    await again.actor.gss.beat()
    assert gss.lives == {"a": 2}


async def test_a_gss_that_was_emptied_makes_the_node_register_again(gss: GssInMemory, alone: Node) -> None:
    await alone.actor.gss.beat()
    gss.lives.clear()
    await alone.actor.gss.beat()
    assert gss.lives == {"a": 2}
    assert (gss.reports[-1]["incarnation"], gss.reports[-1]["sequence"]) == (2, 1)


async def test_without_a_gss_the_node_says_so_and_serves_on(node: Node, cluster: Cluster) -> None:
    with pytest.raises(ClusterError) as caught:
        await node.actor.gss.beat()
    assert caught.value.message == "Failed to connect to GSS at http://gss: connection refused"
    assert "http://gss" in caught.value.help
    assert (await node.http.get("/v2/models/m/ready")).status_code == 200


async def test_any_replica_is_enough(gss: GssInMemory, cluster: Cluster) -> None:
    endpoints = {"endpoints": ["http://gss-1", "http://gss-2", "http://gss"]}
    node = cluster.join("b", cluster={"mode": "distributed", "gss": endpoints})
    await node.actor.gss.beat()
    assert gss.lives == {"b": 1}


async def test_a_refusal_is_not_an_answer(gss: GssInMemory, alone: Node, cluster: Cluster) -> None:
    cluster.network.hosts["gss"] = httpx.MockTransport(lambda _: httpx.Response(401))
    with pytest.raises(ClusterError, match="401"):
        await alone.actor.gss.beat()
    cluster.network.hosts["gss"] = httpx.MockTransport(lambda _: httpx.Response(200, text="<html>"))
    with pytest.raises(ClusterError, match="does not register"):
        await alone.actor.gss.beat()
    with pytest.raises(ClusterError, match="no view"):
        await alone.actor.gss.poll()


async def test_leaving_is_said_in_the_nodes_own_life(gss: GssInMemory, alone: Node) -> None:
    await alone.actor.gss.leave()  # never registered: nothing to say
    await alone.actor.gss.beat()
    await alone.actor.gss.leave()
    assert gss.lives == {}


def view(version: int, cluster: Cluster, *names: str, epoch: str = "e", age_ms: int = 0) -> NodesView:
    """What a GSS says of these nodes; their sequence is the version."""
    records = [cluster.nodes[n].actor.record().model_copy(update={"sequence": version}) for n in names]
    return NodesView(
        version=version,
        epoch=epoch,
        nodes=tuple(NodeView(record=r, liveness="alive", age_ms=age_ms) for r in records),
    )


def seen(node: Node) -> dict[str, str]:
    return {n.record.id: n.liveness for n in node.actor.view.nodes()}


async def test_a_long_poll_names_the_view_that_is_known(gss: GssInMemory, alone: Node, cluster: Cluster) -> None:
    cluster.join("b")
    gss.views = [view(1, cluster, "a", "b"), view(2, cluster, "a", "b")]
    await alone.actor.gss.poll()
    await alone.actor.gss.poll(wait=3)
    assert gss.polls == [{}, {"version": "1", "epoch": "e", "wait": "3"}]
    assert seen(alone) == {"a": "alive", "b": "alive"}


async def test_a_node_that_stops_reporting_becomes_suspect_and_down_by_this_nodes_clock(
    gss: GssInMemory, alone: Node, cluster: Cluster
) -> None:
    cluster.join("b")
    same = view(1, cluster, "b")
    liveness = []
    for _ in range(8):
        gss.views = [same]
        await alone.actor.gss.poll()
        liveness.append(seen(alone)["b"])
        cluster.clock.now += 0.5
    assert liveness == ["alive"] * 3 + ["suspect"] * 3 + ["down"] * 2


async def test_while_no_gss_answers_nobody_is_blamed(gss: GssInMemory, alone: Node, cluster: Cluster) -> None:
    cluster.join("b")
    gss.views = [view(1, cluster, "b")]
    await alone.actor.gss.poll()
    cluster.clock.now += 600
    cluster.network.cut.add("gss")
    with pytest.raises(ClusterError):
        await alone.actor.gss.poll()
    assert seen(alone)["b"] == "alive"
    cluster.network.cut.clear()
    gss.views = [view(1, cluster, "b")]
    await alone.actor.gss.poll()
    assert seen(alone)["b"] == "alive"


async def test_a_node_that_left_is_forgotten_but_not_because_the_gss_began_anew(
    gss: GssInMemory, alone: Node, cluster: Cluster
) -> None:
    for name in "bcd":
        cluster.join(name)
    known = []
    for news in (
        view(1, cluster, "b", "c", "d"),
        view(2, cluster, "b", "d"),  # c has left
        view(1, cluster, epoch="another"),  # nobody has found the new GSS yet
        view(2, cluster, "b", epoch="another"),  # d has not
        view(3, cluster, epoch="another"),  # b had, and has left
    ):
        gss.views = [news]
        await alone.actor.gss.poll()
        known.append("".join(sorted(seen(alone))))
    assert known == ["abcd", "abd", "abd", "abd", "ad"]
