"""Nodes agree on their shares without asking anybody, and reach them without a gap."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from rlx_cluster.deployments import Load, Pull, Replica, Unload, fitting, reconcile, runs_on, share, waiting
from rlx_wire.api import DeployedArtifact, Deployment
from rlx_wire.cpu import LEVELS
from rlx_wire.nodes import Addresses, Capabilities, Device, Liveness, NodeRecord, NodeView

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def node(name: str, cpu: str = "x86-64-v3", targets: tuple[str, ...] = ("c", "llvm"), **labels: str) -> NodeRecord:
    return NodeRecord(
        id=name,
        incarnation=1,
        addresses=Addresses(http=f"http://{name}"),
        capabilities=Capabilities(cpu=cpu, cpu_features=tuple(sorted(LEVELS[cpu].features)), labels=labels),
        devices=(Device(kind="cpu", index=0, name="CPU", targets=targets),),
    )


def seen(*records: NodeRecord, liveness: Liveness = "alive") -> list[NodeView]:
    return [NodeView(record=record, liveness=liveness, age_ms=0) for record in records]


def artifact(target: str = "llvm", cpu: str = "x86-64-v3") -> DeployedArtifact:
    return DeployedArtifact(target=target, cpu=cpu, digest=f"{target}-{cpu}".encode().hex().ljust(64, "0"), bytes=1)


def deployment(
    *artifacts: DeployedArtifact, targets: tuple[str, ...] = ("llvm",), replicas: int = 0, **selector: str
) -> Deployment:
    return Deployment(
        name="d",
        model="m",
        version=3,
        program_digest="0" * 64,
        targets=targets,
        replicas=replicas,
        node_selector=selector,
        artifacts=artifacts,
        created_at=NOW,
        updated_at=NOW,
    )


def test_a_node_takes_the_bundle_for_the_strongest_cpu_that_it_has() -> None:
    known = [artifact(cpu=cpu) for cpu in ("x86-64-v2", "x86-64-v4", "x86-64-v3")]
    assert fitting("llvm", known, node("a", cpu="x86-64-v3")) == artifact(cpu="x86-64-v3")
    assert fitting("llvm", known, node("a", cpu="x86-64")) is None
    assert fitting("c", known, node("a")) is None
    assert fitting("llvm:x86-64-v2", known, node("a", cpu="x86-64-v3")) == artifact(cpu="x86-64-v2")
    assert fitting("llvm:x86-64-v4", known, node("a", cpu="x86-64-v3")) is None


def test_a_target_for_a_named_cpu_needs_that_cpu() -> None:
    assert runs_on("llvm:x86-64-v3", node("a", cpu="x86-64-v4"))
    assert not runs_on("llvm:x86-64-v4", node("a", cpu="x86-64-v3"))
    assert not runs_on("llvm:no-such-cpu", node("a"))
    assert not runs_on("cuda", node("a"))


def test_what_is_not_compiled_yet_is_waited_for() -> None:
    a = node("a")
    half = deployment(artifact("c"), targets=("c", "llvm"))
    assert share([half], a, seen(a)) == {Replica("m", "3", "c", artifact("c").digest)}
    assert waiting([half], a, seen(a)) == {("m", "3", "llvm")}


def test_the_selector_and_the_devices_decide_who_may_hold_it() -> None:
    wanted = deployment(artifact(), zone="east")
    assert share([wanted], node("a", zone="east", disk="ssd"), []) != frozenset()
    assert share([wanted], node("a", zone="west"), []) == frozenset()
    assert share([wanted], node("a"), []) == frozenset()
    assert waiting([deployment(targets=("cuda",))], node("a"), []) == frozenset()
    assert share([deployment(artifact())], node("a", targets=()), []) == frozenset()


@given(st.integers(1, 6), st.integers(0, 8))
def test_nodes_with_the_same_view_pick_exactly_the_replicas_wanted(count: int, replicas: int) -> None:
    all_nodes = [node(f"n{i}") for i in range(count)]
    wanted = deployment(artifact(), replicas=replicas)
    holders = [n.id for n in all_nodes if share([wanted], n, seen(*all_nodes))]
    assert len(holders) == (min(replicas, count) or count)


def test_when_a_holder_goes_down_only_its_replica_moves() -> None:
    all_nodes = [node(f"n{i}") for i in range(5)]
    wanted = deployment(artifact(), replicas=2)
    before = {n.id for n in all_nodes if share([wanted], n, seen(*all_nodes))}
    lost = min(before)
    rest = [n for n in all_nodes if n.id != lost]
    view = seen(*rest) + seen(*[n for n in all_nodes if n.id == lost], liveness="down")
    after = {n.id for n in rest if share([wanted], n, view)}
    assert len(after) == 2
    assert before - {lost} < after


replicas = st.builds(
    Replica, st.sampled_from("mn"), st.sampled_from("12"), st.sampled_from(["c", "llvm"]), st.sampled_from("xyz")
)


@given(st.frozensets(replicas), st.frozensets(replicas))
def test_reconciling_reaches_what_is_desired_and_never_leaves_a_gap(
    desired: frozenset[Replica], loaded: frozenset[Replica]
) -> None:
    held, disk = set(loaded), {replica.digest for replica in loaded}
    served = {(r.model, r.target) for r in loaded} & {(r.model, r.target) for r in desired}
    for _ in range(200):
        actions = reconcile(desired, held, disk)
        if not actions:
            break
        match actions[0]:
            case Pull(digest):
                assert digest not in disk
                disk.add(digest)
            case Load(replica):
                assert replica.digest in disk
                held.add(replica)
            case Unload(replica):
                held.remove(replica)
        assert served <= {(r.model, r.target) for r in held}
    assert held == desired


def test_the_old_version_goes_only_after_the_new_one_is_there() -> None:
    old, new = Replica("m", "1", "c", "x"), Replica("m", "2", "c", "y")
    assert reconcile({new}, {old}, {"x"}) == [Pull("y")]
    assert reconcile({new}, {old}, {"x", "y"}) == [Load(new)]
    assert reconcile({new}, {old, new}, {"x", "y"}) == [Unload(old)]
    assert reconcile({new}, {new}, {"x", "y"}) == []


def test_a_bundle_that_two_models_share_is_pulled_once() -> None:
    one, two = Replica("m", "1", "c", "x"), Replica("n", "1", "c", "x")
    assert reconcile({one, two}, set(), set()) == [Pull("x")]
