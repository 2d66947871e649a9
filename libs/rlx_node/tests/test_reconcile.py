"""A node reaches what is deployed, keeps it without compile-api, and refuses bundles that are not what they claim."""

from __future__ import annotations

from pathlib import Path

import pytest

from rlx_base.errors import ClusterError
from tests.support.nodes import V3, Cluster, Node, ask, bundle, deployment


def served(node: Node) -> set[tuple[str, str, str]]:
    return {(r.model, r.version, r.target) for r in node.actor.holdings.replicas}


async def test_what_is_deployed_is_pulled_loaded_and_served(node: Node, cluster: Cluster) -> None:
    assert served(node) == {("m", "1", "c"), ("m", "1", "llvm")}
    record = node.actor.record()
    assert record.status is not None
    assert {m.target for m in record.status.loaded} == {"c", "llvm"}


async def test_what_is_deployed_no_more_is_unloaded(node: Node, cluster: Cluster) -> None:
    cluster.api.deploy()
    await node.deployed()
    assert served(node) == set()
    assert node.executor.loaded == {}
    assert (await node.http.post("/v1/infer", json=ask())).status_code == 404


async def test_a_rollout_leaves_no_gap(node: Node, cluster: Cluster, tmp_path: Path) -> None:
    newer = (bundle(tmp_path, 0, "llvm"), bundle(tmp_path, 1, "c"))
    cluster.api.deploy(deployment("m", 2, *newer), bundles=newer)
    await node.actor.deployments.poll()
    while await node.actor.reconciler.step():
        assert {target for _, _, target in served(node)} == {"c", "llvm"}
    assert served(node) == {("m", "2", "c"), ("m", "2", "llvm")}


async def test_a_bundle_that_two_versions_share_stays_until_the_last_of_them_goes(
    cluster: Cluster, tmp_path: Path
) -> None:
    node = cluster.join("a")
    await cluster.start()
    there = bundle(tmp_path)
    one, two = deployment("m", 1, there), deployment("m", 2, there)
    cluster.api.deploy(one, two, bundles=(there,))
    await node.deployed()
    assert cluster.api.asked.count(f"/v1/artifacts/{there.name}/bundle") == 1
    cluster.api.deploy(two)
    await node.deployed()
    assert served(node) == {("m", "2", "llvm")}
    assert (await node.http.post("/v1/infer", json=ask())).status_code == 200


async def test_a_target_that_is_compiled_later_is_loaded_later(cluster: Cluster, tmp_path: Path) -> None:
    node = cluster.join("a")
    await cluster.start()
    llvm, c = bundle(tmp_path, 2, "llvm"), bundle(tmp_path, 3, "c")
    cluster.api.deploy(deployment("m", 1, llvm, targets=("llvm", "c")), bundles=(llvm,))
    await node.deployed()
    assert served(node) == {("m", "1", "llvm")}
    cluster.api.deploy(deployment("m", 1, llvm, c, targets=("llvm", "c")), bundles=(c,))
    await node.deployed()
    assert served(node) == {("m", "1", "llvm"), ("m", "1", "c")}


async def test_a_restarted_node_serves_again_without_compile_api(node: Node, cluster: Cluster) -> None:
    cluster.api.down = True
    again = cluster.join("a")
    await again.actor.holdings.start()
    with pytest.raises(ClusterError, match="E506"):
        await again.actor.deployments.poll()
    await again.settle()
    assert served(again) == served(node)
    assert (await again.http.post("/v1/infer", json=ask())).status_code == 200


async def test_a_bundle_that_is_not_what_its_digest_promises_is_never_visible(cluster: Cluster, tmp_path: Path) -> None:
    node = cluster.join("a")
    await cluster.start()
    there = bundle(tmp_path)
    cluster.api.deploy(deployment("m", 1, there), bundles=(there,))
    for spoil in (lambda a: a[: len(a) // 2], lambda a: a.replace(b"no code", b"NO CODE"), lambda _: b"<html>"):
        cluster.api.spoil = spoil
        await node.deployed()
        cluster.clock.now += 100  # past the pause after a failure
        assert served(node) == set()
        assert [path.name for path in (cluster.folder / "a" / "bundles").iterdir()] == []
        problem = (await node.http.post("/v1/infer", json=ask())).json()
        assert problem["code"] == "RLX-E414"
        assert "rejected" in problem["detail"]
    cluster.api.spoil = lambda archive: archive
    await node.deployed()
    assert served(node) == {("m", "1", "llvm")}


async def test_an_action_that_fails_is_tried_again_later_and_later(cluster: Cluster, tmp_path: Path) -> None:
    node = cluster.join("a")
    await cluster.start()
    there = bundle(tmp_path)
    cluster.api.deploy(deployment("m", 1, there), bundles=(there,))
    node.executor.refuse = ClusterError("E504", device="cpu:0", model="m", reason="SIGILL")
    await node.deployed()
    pauses = []
    for _ in range(9):
        pause = node.actor.reconciler.pause()
        assert pause is not None
        pauses.append(pause)
        cluster.clock.now += pause
        assert await node.actor.reconciler.step()
        assert not await node.actor.reconciler.step()
    assert pauses == [0.5, 1, 2, 4, 8, 16, 32, 60, 60]
    node.executor.refuse = None
    cluster.clock.now += 60
    await node.settle()
    assert served(node) == {("m", "1", "llvm")}
    assert node.actor.reconciler.pause() is None


async def test_one_that_fails_does_not_hold_up_the_others(cluster: Cluster, tmp_path: Path) -> None:
    node = cluster.join("a")
    await cluster.start()
    lost, there = bundle(tmp_path, 1), bundle(tmp_path, 2)
    cluster.api.deploy(deployment("lost", 1, lost), deployment("m", 1, there), bundles=(there,))
    await node.deployed()
    assert served(node) == {("m", "1", "llvm")}


async def test_what_the_executor_gave_up_is_not_reported_and_is_loaded_again(node: Node) -> None:
    node.executor.loaded.clear()
    assert node.actor.holdings.loaded() == ()
    await node.settle()
    assert served(node) == {("m", "1", "c"), ("m", "1", "llvm")}


async def test_while_its_executor_restarts_a_node_has_nothing_loaded_and_forgets_nothing(node: Node) -> None:
    node.executor.ready = False
    assert node.actor.holdings.loaded() == ()
    assert not await node.actor.reconciler.step()
    assert not node.actor.ready
    node.executor.ready = True
    assert len(node.actor.holdings.loaded()) == 2


async def test_a_bundle_for_a_stronger_cpu_is_left_alone(cluster: Cluster, tmp_path: Path) -> None:
    node = cluster.join("a")
    await cluster.start()
    v4 = bundle(tmp_path, cpu="x86-64-v4")
    cluster.api.deploy(deployment("m", 1, v4), bundles=(v4,))
    await node.deployed()
    assert served(node) == set()
    assert V3.cpu == "x86-64-v3"


async def test_a_long_poll_names_the_version_that_is_known(node: Node, cluster: Cluster) -> None:
    assert await node.actor.deployments.poll() is False
    cluster.api.deploy()
    assert await node.actor.deployments.poll() is True
