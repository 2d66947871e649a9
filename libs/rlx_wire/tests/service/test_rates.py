"""Token buckets: so many at once, so many a second, each caller by itself."""

from __future__ import annotations

import pytest

from rlx_wire.service.rates import Rates


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_burst_passes_and_then_as_many_as_time_allows() -> None:
    clock = Clock()
    rates = Rates(10, 3, clock)
    assert [rates.wait("a") for _ in range(3)] == [0, 0, 0]
    assert rates.wait("a") == pytest.approx(0.1)
    assert rates.wait("b") == 0, "another caller has a bucket of its own"
    clock.now += 0.05
    assert rates.wait("a") == pytest.approx(0.05)
    clock.now += 0.05
    assert rates.wait("a") == 0
    clock.now += 1000
    assert [rates.wait("a") == 0 for _ in range(4)] == [True, True, True, False]


def test_zero_is_no_limit() -> None:
    rates = Rates(0, 1, Clock())
    assert not any(rates.wait("a") for _ in range(100))


def test_strangers_with_many_addresses_fill_no_memory() -> None:
    rates = Rates(1, 1, Clock())
    for number in range(10_000):
        rates.wait(f"10.0.{number}")
    assert len(rates._buckets) <= 4096
    assert rates.wait("10.0.9999") > 0, "those who asked last are remembered"
