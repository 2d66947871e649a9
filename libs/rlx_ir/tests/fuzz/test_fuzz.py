"""Hostile texts and archives are read or refused with a code: quickly, in little memory, and nothing else happens."""

from __future__ import annotations

import os
from collections import Counter

import pytest

from libs.rlx_ir.tests.fuzz.runner import read_all
from libs.rlx_ir.tests.fuzz.texts import generate
from rlx_base.error_table import TABLE

COUNT = int(os.environ.get("RLX_FUZZ_TEXTS", "1000"))
SEED = int(os.environ.get("RLX_FUZZ_SEED", "0"))

# What reading a text refuses beyond its own series. The rest of E1xx is for modules that programs build.
VERIFIED = {f"E{number}" for number in (101, 102, 103, 104, 105, 106, 109, 110, 111, 112, 113, 114, 115, 120, 121)}
# E023 and E024 are met where a Python function becomes a module, never in a text.
REFUSALS = {code for code in TABLE if code.startswith("E0")} - {"E023", "E024"} | VERIFIED


def test_every_text_is_read_or_refused(capsys: pytest.CaptureFixture[str]) -> None:
    outcomes = read_all(generate(COUNT, SEED))
    histogram = Counter(outcome.outcome for outcome in outcomes)
    slowest = max(outcome.seconds for outcome in outcomes)
    largest = max(outcome.peak for outcome in outcomes)
    with capsys.disabled():
        print(f"\n{len(outcomes)} texts, slowest {slowest:.2f} s, peak {largest >> 20} MB")
        print(", ".join(f"{name} {count}" for name, count in sorted(histogram.items())))

    strange = [o for o in outcomes if o.outcome != "parsed" and o.outcome not in TABLE]
    assert not strange, f"{strange[0].outcome}: {strange[0].content[:2000]!r}"
    acted = [o for o in outcomes if o.events]
    assert not acted, f"{acted[0].events}: {acted[0].content[:2000]!r}"
    slow = [o for o in outcomes if o.seconds > 2]
    assert not slow, f"{slow[0].seconds} s: {slow[0].content[:500]!r}"
    assert largest < 512 << 20
    assert histogram["parsed"] >= 0.3 * len(outcomes)
    assert histogram.keys() >= REFUSALS
