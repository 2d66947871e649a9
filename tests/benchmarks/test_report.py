"""The report says what was measured, and names what was promised and not kept."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.report import broken_promises, geometric_means, markdown, scaling, write_readme


def result(rlx_ms: float, ratio: float, error: float = 1e-6) -> dict[str, Any]:
    def threads(scale: float) -> dict[str, Any]:
        times = {"rlx": rlx_ms * scale, "onnxruntime": 10.0 * scale, "openvino": 12.0 * scale}
        peers = {
            name: {"minimum_ms": ms, "median_ms": ms, "load_ms": 1.0, "ratio": rlx_ms / ms, "peak_share": 0.5}
            for name, ms in times.items()
        }
        return {"peak_gflops": 100.0 / scale, "peers": peers, "ratio": ratio}

    return {
        "title": "A network",
        "goal": 0.8,
        "compile_seconds": 9.0,
        "compile_cpu_seconds": 8.0,
        "compile_peak_bytes": 10**9,
        "warm_load_ms": 50.0,
        "errors": {"rlx": error, "onnxruntime": 1e-6},
        "threads": {"1": threads(1.0), "2": threads(0.5)},
    }


def report(*results: dict[str, Any]) -> dict[str, Any]:
    return {
        "date": "2026-12-01",
        "cpu": "a processor",
        "versions": {"onnxruntime": "1.0"},
        "networks": list(results),
        "geometric_means": geometric_means(results),
    }


def test_the_mean_of_ratios_is_geometric() -> None:
    assert geometric_means([result(8, 0.5), result(8, 0.72)])["1"] == pytest.approx(0.6)


def test_scaling_is_told_against_what_the_machine_scales() -> None:
    assert scaling(result(8, 0.8)) == pytest.approx(1.0)


def test_the_table_is_what_was_measured() -> None:
    table = markdown(report(result(8.126, 0.8126)))
    assert "| A network | 8.13 / 8.13 | 10.00 / 10.00 | 12.00 / 12.00 | **0.81** | 0.80 | 50% |" in table
    assert "peak 200 GFLOP/s" in table
    assert "2026-12-01, a processor" in table


def test_each_promise_that_is_broken_is_named() -> None:
    assert broken_promises(report(result(8, 0.8)), 10.0) == []
    assert len(broken_promises(report(result(8, 0.8, error=3e-6)), 5.0)) == 2
    assert broken_promises(report(result(8, 0.8, error=float("nan"))), 10.0)


def test_the_readme_gets_the_table_between_its_marks(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(
        "before\n<!-- written by `make bench-readme` -->\nold\n<!-- end of what `make bench-readme` writes -->\nafter\n"
    )
    made = json.loads(json.dumps(report(result(8, 0.8))))
    write_readme(made, readme)
    write_readme(made, readme)
    assert readme.read_text().startswith("before\n")
    assert readme.read_text().endswith("after\n")
    assert readme.read_text().count("A network") == 3
    assert "old" not in readme.read_text()
    readme.write_text("no marks")
    with pytest.raises(ValueError, match="no place"):
        write_readme(made, readme)
