"""Replicas that exchange records in any order, any number of times, agree."""

from __future__ import annotations

from functools import reduce

from hypothesis import given
from hypothesis import strategies as st

from rlx_cluster.lww import EMPTY, Records, leave, merge, put, register, report
from rlx_wire.nodes import Addresses, Capabilities, NodeRecord, NodeRegistration, NodeStatus

CPU = Capabilities(cpu="x86-64-v3")


@st.composite
def records(draw: st.DrawFn) -> NodeRecord:
    """Few nodes, lives and contents, so that collisions are the rule."""
    node, incarnation, sequence = draw(st.tuples(st.sampled_from("ab"), st.integers(1, 3), st.integers(0, 2)))
    status = None
    if sequence:
        status = NodeStatus(incarnation=incarnation, sequence=sequence, queue_depth=draw(st.integers(0, 1)))
    return NodeRecord(
        id=node,
        incarnation=incarnation,
        sequence=sequence,
        addresses=Addresses(http=f"http://{draw(st.sampled_from('xy'))}"),
        capabilities=CPU,
        status=status,
        left=draw(st.booleans()),
    )


def of(*known: NodeRecord) -> Records:
    return reduce(put, known, EMPTY)


maps = st.lists(records(), max_size=6).map(lambda known: of(*known))


@given(maps, maps)
def test_merge_is_commutative(a: Records, b: Records) -> None:
    assert dict(merge(a, b)) == dict(merge(b, a))


@given(maps, maps, maps)
def test_merge_is_associative(a: Records, b: Records, c: Records) -> None:
    assert dict(merge(merge(a, b), c)) == dict(merge(a, merge(b, c)))


@given(maps, maps)
def test_merge_is_idempotent(a: Records, b: Records) -> None:
    assert dict(merge(a, a)) == dict(a)
    assert dict(merge(merge(a, b), b)) == dict(merge(a, b))


@given(st.lists(records(), max_size=8).flatmap(lambda known: st.tuples(st.just(known), st.permutations(known))))
def test_the_order_of_arrival_does_not_matter(orders: tuple[list[NodeRecord], list[NodeRecord]]) -> None:
    one, other = orders
    assert dict(of(*one)) == dict(of(*other))


@given(maps, records())
def test_nothing_newer_is_ever_replaced(a: Records, record: NodeRecord) -> None:
    after = put(a, record)
    assert after[record.id].clock == max(known.clock for known in (record, a.get(record.id, record)))


def node(last: int = 0) -> NodeRegistration:
    return NodeRegistration(id="a", last_incarnation=last, addresses=Addresses(http="http://a"), capabilities=CPU)


def test_a_new_life_follows_all_earlier_ones_whoever_remembers_them() -> None:
    first = register(EMPTY, node())
    assert first.incarnation == 1
    assert register(of(first), node()).incarnation == 2
    assert register(EMPTY, node(last=7)).incarnation == 8
    assert register(of(first), node(last=7)).incarnation == 8
    # A service that was emptied gives a life that wins over every copy of the old ones.
    assert register(EMPTY, node(last=7)).clock > first.clock


def test_a_status_of_an_unknown_life_is_refused() -> None:
    first = register(EMPTY, node())
    status = NodeStatus(incarnation=1, sequence=1, queue_depth=4)
    assert report(EMPTY, "a", status) is None
    assert report(of(first), "a", status.model_copy(update={"incarnation": 2})) is None
    known = report(of(first), "a", status)
    assert known is not None
    assert known.status == status
    assert known.sequence == 1


def test_a_late_duplicate_of_a_status_changes_nothing() -> None:
    newest = report(of(register(EMPTY, node())), "a", NodeStatus(incarnation=1, sequence=2))
    assert newest is not None
    late = NodeStatus(incarnation=1, sequence=1, queue_depth=9)
    assert report(of(newest), "a", late) == newest


@given(records())
def test_a_leave_record_wins_over_what_was_said_before_it(record: NodeRecord) -> None:
    gone = leave(record)
    assert put(of(gone), record)["a" if record.id == "a" else "b"].left
    assert report(of(gone), record.id, NodeStatus(incarnation=gone.incarnation, sequence=99)) is None
    assert not register(of(gone), node()).left
