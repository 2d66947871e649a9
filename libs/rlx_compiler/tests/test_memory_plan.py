"""The workspace: values share memory where their lives do not overlap, and only there."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rlx_compiler.memory_plan import Life, aligned, place_values


@st.composite
def lives(draw: st.DrawFn) -> list[Life]:
    found = []
    for number in range(draw(st.integers(0, 12))):
        first = draw(st.integers(0, 20))
        found.append(Life(f"v{number}", draw(st.integers(0, 1000)), first, draw(st.integers(first, 25))))
    return found


@given(lives())
def test_values_that_live_together_never_overlap(values: list[Life]) -> None:
    offsets, size = place_values(values)
    for one in values:
        assert offsets[one.name] % 64 == 0
        assert offsets[one.name] + one.bytes <= size
        for other in values:
            apart = one.last < other.first or other.last < one.first
            before = offsets[one.name] + one.bytes <= offsets[other.name]
            after = offsets[other.name] + other.bytes <= offsets[one.name]
            assert one is other or apart or before or after or 0 in (one.bytes, other.bytes)


@given(lives())
def test_the_plan_does_not_depend_on_the_order_of_its_input(values: list[Life]) -> None:
    assert place_values(values) == place_values(values[::-1])


def test_a_chain_needs_the_memory_of_two_neighbours() -> None:
    chain = [Life(f"v{i}", 100, i, i + 1) for i in range(10)]
    offsets, size = place_values(chain)
    assert size == 2 * aligned(100)
    assert set(offsets.values()) == {0, 128}
