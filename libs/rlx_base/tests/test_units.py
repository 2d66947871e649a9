"""Quantities with units."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlx_base.units import parse_bandwidth, parse_bytes, parse_duration


@pytest.mark.parametrize(
    ("text", "bytes"),
    [("40GB", 40 * 10**9), ("32KiB", 32 * 1024), ("7B", 7), ("1.5MB", 1_500_000), (" 2 TB ", 2 * 10**12)],
)
def test_sizes(text: str, bytes: int) -> None:
    assert parse_bytes(text) == bytes


@pytest.mark.parametrize(
    ("text", "rate"), [("1.2TB/s", 1.2e12), ("32GB/s", 32e9), ("1Gbps", 1.25e8), ("10Mbps", 1.25e6), ("8bit/s", 1.0)]
)
def test_bits_and_bytes_are_told_apart(text: str, rate: float) -> None:
    assert parse_bandwidth(text) == pytest.approx(rate)


@pytest.mark.parametrize(
    ("text", "seconds"), [("12ns", 12e-9), ("0.2ms", 2e-4), ("5s", 5.0), ("3µs", 3e-6), ("1h", 3600.0)]
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "GB", "12", "-1GB", "1 XB", "1GB/s", "1e999GB", "٣GB", "1" * 40 + "B"])
def test_what_is_not_a_size_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match='write it like "40GB"'):
        parse_bytes(text)


@pytest.mark.parametrize("parse", [parse_bytes, parse_bandwidth, parse_duration])
@given(text=st.text(max_size=20))
def test_any_text_is_a_quantity_or_a_value_error(parse: object, text: str) -> None:
    with contextlib.suppress(ValueError):
        assert parse(text) >= 0  # type: ignore[operator]
