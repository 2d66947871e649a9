"""A node is alive while its sequence advances by the observer's clock, whatever other clocks say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlx_cluster.membership import Change, View, elapse, forget, forgive, observe
from rlx_wire.nodes import Addresses, Capabilities, Liveness, NodeRecord

STARTS = st.floats(0, 1e9)


def beat(sequence: int, incarnation: int = 1, node: str = "a", left: bool = False) -> NodeRecord:
    return NodeRecord(
        id=node,
        incarnation=incarnation,
        sequence=sequence,
        addresses=Addresses(http=f"http://{node}"),
        capabilities=Capabilities(cpu="x86-64-v3"),
        left=left,
    )


def liveness(view: View, node: str = "a") -> Liveness:
    return view.members[node].liveness


@pytest.mark.parametrize(
    ("silence", "expected"), [(0.0, "alive"), (1.25, "alive"), (1.75, "suspect"), (3.25, "down"), (1e6, "down")]
)
def test_silence_makes_a_node_suspect_after_three_beats_and_down_after_six(silence: float, expected: str) -> None:
    view, joined = observe(View(), beat(1), now=100.0)
    assert joined == [Change("a", None, "alive")]
    view, _ = elapse(view, 100.0 + silence)
    assert liveness(view) == expected


@given(start=STARTS, skew=st.floats(-1e9, 1e9), beats=st.integers(1, 40))
def test_a_node_whose_clock_is_far_off_is_never_suspected(start: float, skew: float, beats: int) -> None:
    # The node's clock (start + skew) appears nowhere: there is no field it could arrive in.
    view = View()
    for sequence in range(1, beats + 1):
        view, changes = observe(view, beat(sequence), now=start + 0.5 * sequence)
        assert all(change.after == "alive" for change in changes)
    assert liveness(view) == "alive"


def test_the_same_report_again_is_no_sign_of_life() -> None:
    view, _ = observe(View(), beat(1), now=0.0)
    for now in (0.5, 1.0, 1.4, 1.6):
        view, changes = observe(view, beat(1), now=now)
    assert changes == [Change("a", "alive", "suspect")]


def test_a_silent_node_that_speaks_again_is_alive_again() -> None:
    view, _ = observe(View(), beat(1), now=0.0)
    view, _ = elapse(view, 10.0)
    view, changes = observe(view, beat(2), now=10.5)
    assert changes == [Change("a", "down", "alive")]


def test_a_new_incarnation_is_a_new_life_although_its_sequence_starts_again() -> None:
    view, _ = observe(View(), beat(500), now=0.0)
    view, _ = elapse(view, 10.0)
    view, changes = observe(view, beat(0, incarnation=2), now=10.0)
    assert changes == [Change("a", "down", "alive")]
    view, changes = observe(view, beat(501, incarnation=1), now=10.1)
    assert changes == []
    assert view.members["a"].record.incarnation == 2


def test_a_report_passed_on_late_is_as_old_as_it_was() -> None:
    view, changes = observe(View(), beat(1), now=100.0, age=2.0)
    assert changes == [Change("a", None, "suspect")]
    view, changes = elapse(view, 101.2)
    assert changes == [Change("a", "suspect", "down")]


def test_an_old_copy_of_a_report_cannot_make_a_node_younger() -> None:
    view, _ = observe(View(), beat(1), now=0.0)
    view, _ = observe(view, beat(1), now=1.0, age=0.0)
    assert view.members["a"].advanced == 0.0


def test_a_node_that_left_is_gone_and_never_suspected() -> None:
    view, _ = observe(View(), beat(1), now=0.0)
    view, changes = observe(view, beat(2, left=True), now=0.1)
    assert changes == [Change("a", "alive", None)]
    assert view.nodes(0.1) == ()
    _, changes = elapse(view, 1e6)
    assert changes == []
    _, changes = observe(view, beat(0, incarnation=2), now=5.0)
    assert changes == [Change("a", None, "alive")]


def test_a_node_that_others_say_has_left_is_forgotten() -> None:
    view, _ = observe(View(), beat(1), now=0.0)
    after, changes = forget(view, {"a", "unknown"})
    assert changes == [Change("a", "alive", None)]
    assert after.nodes(0.0) == ()
    assert after.version == view.version + 1
    assert forget(after, {"a"}) == (after, [])


def test_my_own_deafness_is_not_blamed_on_the_nodes() -> None:
    view, _ = observe(View(), beat(1), now=0.0)
    view, changes = elapse(forgive(view, 60.0), 60.5)
    assert changes == []


def test_the_version_grows_with_every_change_and_with_nothing_else() -> None:
    view, _ = observe(View(), beat(1), now=0.0)
    assert view.version == 1
    same, _ = observe(view, beat(1), now=0.1)
    assert same.version == 1
    assert observe(view, beat(2), now=0.1)[0].version == 2
    assert elapse(view, 2.0)[0].version == 2


def test_the_wires_view_is_sorted_and_says_how_old_it_is() -> None:
    view, _ = observe(View(), beat(1, node="b"), now=1.0)
    view, _ = observe(view, beat(1, node="a"), now=1.25)
    shown = view.nodes(1.5)
    assert [(node.record.id, node.age_ms) for node in shown] == [("a", 250), ("b", 500)]
