"""The roofs of this machine are measured, not assumed."""

from __future__ import annotations

import pytest

from rlx_runtime.peak import measure_peak


def test_a_peak_is_what_this_machine_reaches() -> None:
    peak = measure_peak(1)
    assert peak.threads == 1
    # Any machine that runs Python is between these: a wrong unit would be outside by a factor of a thousand.
    assert 0.1 < peak.gflops < 10_000
    assert 0.1 < peak.gbytes_per_s < 10_000


def test_a_machine_that_starts_no_process_is_an_error_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rlx_runtime.peak.sys.executable", "/bin/false")
    with pytest.raises(OSError, match="peak"):
        measure_peak(1)
