"""Placement is a function: equal questions get equal answers, everywhere, and good ones."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from rlx_cluster.placement import Link, PlacementRequest, PlacementView, place, quantised
from rlx_wire.nodes import (
    Addresses,
    Capabilities,
    Device,
    Liveness,
    LoadedModel,
    NodeRecord,
    NodeStatus,
    NodeView,
)


def loaded(version: str = "1", target: str = "llvm", run_us: int = 5_000, device: str = "cpu:0") -> LoadedModel:
    digest = f"{target}-{version}".encode().hex().ljust(64, "0")
    return LoadedModel(model="m", version=version, target=target, digest=digest, device=device, run_us=run_us)


def node(
    name: str,
    *models: LoadedModel,
    queue: int = 0,
    liveness: Liveness = "alive",
    draining: bool = False,
    left: bool = False,
) -> NodeView:
    status = NodeStatus(incarnation=1, sequence=1, queue_depth=queue, loaded=models or (loaded(),), draining=draining)
    record = NodeRecord(
        id=name,
        incarnation=1,
        sequence=1,
        addresses=Addresses(http=f"http://{name}"),
        capabilities=Capabilities(cpu="x86-64-v3"),
        devices=(Device(kind="cpu", index=0, name="CPU", targets=("c", "llvm")),),
        status=status,
        left=left,
    )
    return NodeView(record=record, liveness=liveness, age_ms=0)


def view(*nodes: NodeView, **more: object) -> PlacementView:
    return PlacementView(version=1, here="scheduler", nodes=nodes, **more)  # type: ignore[arg-type]


def ask(id: str = "r", **more: object) -> PlacementRequest:
    return PlacementRequest(id=id, model="m", **more)  # type: ignore[arg-type]


def order(request: PlacementRequest, seen: PlacementView) -> list[str]:
    return [candidate.node for candidate in place(request, seen).candidates]


nodes = st.lists(
    st.builds(
        node,
        st.sampled_from("abcd"),
        st.builds(
            loaded,
            st.sampled_from(["1", "2", "10"]),
            st.sampled_from(["c", "llvm"]),
            st.integers(0, 10**6),
            st.sampled_from(["cpu:0", "cuda:0"]),
        ),
        queue=st.integers(0, 100),
        liveness=st.sampled_from(["alive", "suspect", "down"]),
        draining=st.booleans(),
    ),
    unique_by=lambda n: n.record.id,
)
requests = st.builds(
    ask,
    st.text(max_size=8),
    version=st.sampled_from([None, "1", "10"]),
    target=st.sampled_from([None, "c", "llvm"]),
    preferred_devices=st.sampled_from([(), ("cuda:0",), ("b/cpu:0", "cpu:0")]),
    required=st.booleans(),
    bytes=st.integers(0, 10**9),
)


@given(requests, nodes, st.randoms())
def test_the_order_in_which_nodes_are_known_does_not_matter(request_, known, random) -> None:  # type: ignore[no-untyped-def]
    shuffled = random.sample(known, len(known))
    assert place(request_, view(*known)) == place(request_, view(*shuffled))


@given(requests, nodes)
def test_only_legal_places_are_candidates(request_: PlacementRequest, known: list[NodeView]) -> None:
    by_name = {n.record.id: n for n in known}
    for candidate in place(request_, view(*known)).candidates:
        where = by_name[candidate.node]
        assert where.liveness != "down"
        assert where.record.runs
        assert request_.target in (None, candidate.target)
        assert request_.version in (None, candidate.version)
        assert candidate.preferred or not request_.required
        assert candidate.cost_us == candidate.run_us + candidate.queue_us + candidate.transfer_us


@given(requests, nodes)
def test_an_answer_says_why(request_: PlacementRequest, known: list[NodeView]) -> None:
    answer = place(request_, view(*known))
    assert answer.reason
    if answer.candidates:
        assert answer.candidates[0].node in answer.reason


SCRIPT = """
import sys; sys.path.insert(0, {here!r})
import test_placement as t
seen = t.view(*[t.node(name, queue=i % 2) for i, name in enumerate("abcdefgh")])
print([t.order(t.ask(str(i)), seen) for i in range(20)])
"""


def test_another_process_with_another_hash_seed_decides_the_same() -> None:
    from pathlib import Path

    here = str(Path(__file__).parent)
    answers = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT.format(here=here)],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            timeout=60,
        ).stdout
        for seed in ("1", "2")
    }
    seen = view(*[node(name, queue=i % 2) for i, name in enumerate("abcdefgh")])
    assert answers == {f"{[order(ask(str(i)), seen) for i in range(20)]}\n".encode()}


def test_equal_nodes_share_the_requests() -> None:
    seen = view(*[node(name) for name in "abcd"])
    first = Counter(order(ask(str(i)), seen)[0] for i in range(1000))
    assert set(first) == set("abcd")
    assert all(150 < count < 350 for count in first.values())


def test_when_a_node_goes_only_its_requests_move() -> None:
    before, after = view(*[node(n) for n in "abcd"]), view(*[node(n) for n in "abc"])
    for i in range(200):
        was, now = order(ask(str(i)), before)[0], order(ask(str(i)), after)[0]
        assert was in ("d", now)


def test_a_long_queue_and_a_slow_device_are_passed_over() -> None:
    assert order(ask(), view(node("busy", queue=20), node("idle")))[0] == "idle"
    slow, fast = node("slow", loaded(run_us=50_000)), node("fast", loaded(run_us=5_000))
    assert order(ask(), view(slow, fast))[0] == "fast"


def test_what_this_actor_sent_itself_counts_before_the_node_reports_it() -> None:
    seen = view(node("a"), node("b"), in_flight={"a/cpu:0": 8})
    assert {order(ask(str(i)), seen)[0] for i in range(50)} == {"b"}


def test_a_large_input_stays_where_it_is_unless_the_queue_is_longer_than_the_way() -> None:
    here = PlacementView(version=1, here="a", nodes=(node("a"), node("b")))
    assert order(ask(bytes=10**8), here) == ["a", "b"]
    fast = Link(latency_us=10, bytes_per_second=10**11)
    crowded = PlacementView(version=1, here="a", nodes=(node("a", queue=50), node("b")), links={"b": fast})
    assert order(ask(bytes=10**8), crowded) == ["b", "a"]


def test_the_latest_version_is_meant_and_versions_are_numbers() -> None:
    seen = view(node("a", loaded("9")), node("b", loaded("10")))
    assert order(ask(), seen) == ["b"]
    assert order(ask(version="9"), seen) == ["a"]


def test_the_target_picks_among_those_loaded() -> None:
    both = node("a", loaded(target="c", run_us=9_000), loaded(target="llvm", run_us=3_000))
    assert [c.target for c in place(ask(), view(both)).candidates] == ["llvm", "c"]
    assert [c.target for c in place(ask(target="c"), view(both)).candidates] == ["c"]
    assert place(ask(target="cuda"), view(both)).candidates == ()
    named = node("a", loaded(target="llvm:x86-64-v4"))
    for asked, count in (("llvm", 1), ("llvm:x86-64-v4", 1), ("llvm:x86-64-v3", 0)):
        assert len(place(ask(target=asked), view(named)).candidates) == count


def test_a_hint_is_a_preference_and_a_required_one_a_condition() -> None:
    seen = view(node("a", loaded(run_us=1)), node("b", loaded(device="cuda:0", run_us=10**6)))
    assert order(ask(preferred_devices=("cuda:0",)), seen) == ["b", "a"]
    assert order(ask(preferred_devices=("a/cpu:0",)), seen) == ["a", "b"]
    assert order(ask(preferred_devices=("cuda:0",), required=True), seen) == ["b"]
    nowhere = place(ask(preferred_devices=("cuda:7",), required=True), seen)
    assert nowhere.candidates == ()
    assert "cuda:7" in nowhere.reason


def test_a_suspect_node_is_the_last_resort() -> None:
    assert order(ask(), view(node("a", liveness="suspect"), node("b", queue=99))) == ["b", "a"]


@given(st.integers(0, 10**12))
def test_quantising_keeps_the_two_leading_bits(value: int) -> None:
    assert 0 <= value - quantised(value) <= value / 2
    assert quantised(quantised(value)) == quantised(value)
    assert quantised(value + 1) >= quantised(value)
