"""ONNX's backend tests: all of them by the interpreter, a slice compiled. A test that passes may not fail again.

`not_passing.txt` lists the tests that the interpreter does not pass yet. One that fails and is not listed is a
regression; one that is listed and passes has to be taken off the list.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.suite import PASSING, SUITES, run_suite, test_names


def listed(file: str) -> frozenset[str]:
    return frozenset((Path(__file__).parent / file).read_text(encoding="utf-8").split())


NOT_PASSING = listed("not_passing.txt")
# So many tests apart; a prime, so that families of tests of any size have members in the slice.
SLICE = 41


@pytest.mark.parametrize("suite", SUITES)
def test_what_passes_by_the_interpreter_stays_so(suite):
    outcomes = list(run_suite(suite, "interpreter"))
    failing = {outcome.name: outcome.detail for outcome in outcomes if outcome.result not in PASSING}
    regressions = {name: why for name, why in failing.items() if name not in NOT_PASSING}
    assert not regressions
    repaired = {outcome.name for outcome in outcomes} & NOT_PASSING - failing.keys()
    assert not repaired, "take these off the list"


@pytest.mark.parametrize("suite", SUITES)
def test_a_slice_passes_compiled(suite):
    names = [name for name in test_names(suite) if name not in NOT_PASSING][::SLICE]
    failing = {o.name: o.detail for o in run_suite(suite, "llvm", names) if o.result not in PASSING}
    assert not failing
