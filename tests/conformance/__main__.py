"""Runs ONNX's backend tests; prints and writes to `build/reports/conformance.json` what passed, per suite and operator.

Example: python -m tests.conformance --engine interpreter --suite node --match conv
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import onnx

from tests.conformance.suite import PASSING, SUITES, Outcome, excluded_tests, run_suite, test_names

__all__ = ["main"]

REPORT = Path("build/reports/conformance.json")


def main() -> None:
    parser = argparse.ArgumentParser(prog="conformance", description=__doc__)
    parser.add_argument(
        "--engine", "--target", action="append", help="interpreter, llvm, wasm, riscv64 …; several times for several"
    )
    parser.add_argument("--suite", action="append", choices=sorted(SUITES))
    parser.add_argument("--match", default="", help="only tests whose name has this in it (a pattern)")
    parser.add_argument("--report", type=Path, default=REPORT)
    asked = parser.parse_args()
    report: dict[str, object] = {"onnx": onnx.__version__, "excluded": excluded_tests()}
    print(f"not counted, since their results are random: {', '.join(excluded_tests())}")
    for engine in asked.engine or ["interpreter", "llvm"]:
        outcomes: list[Outcome] = []
        for suite in asked.suite or SUITES:
            names = [name for name in test_names(suite) if re.search(asked.match, name)]
            found = list(run_suite(suite, engine, names))
            print(f"{engine:12} {suite:18} {_counts(found)}")
            outcomes += found
        report[engine] = counted = summary(outcomes)
        _print_operators(counted["operators"])
        for (result, detail), count in Counter(_why(outcome) for outcome in outcomes).most_common(40):
            if result not in PASSING:
                print(f"  {count:4} {result}: {detail}")
    asked.report.parent.mkdir(parents=True, exist_ok=True)
    asked.report.write_text(json.dumps(report, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(f"written: {asked.report}")


def summary(outcomes: Iterable[Outcome]) -> dict[str, Any]:
    """Counts per suite and per operator, and all tests."""
    suites: dict[str, Counter[str]] = {}
    operators: dict[str, Counter[str]] = {}
    listed = list(outcomes)
    for outcome in listed:
        suites.setdefault(outcome.suite, Counter())[outcome.result] += 1
        for operator in outcome.operators:
            operators.setdefault(operator, Counter())[outcome.result] += 1
    return {"suites": suites, "operators": operators, "tests": [asdict(outcome) for outcome in listed]}


def _print_operators(operators: Mapping[str, Counter[str]]) -> None:
    """Those with a test that did not pass by kernels alone; of the others only how many there are."""
    plain = [name for name, counts in operators.items() if set(counts) == {"passed"}]
    print(f"  {len(plain)} operators: every test passed, by kernels alone where it is compiled")
    for name, counts in sorted(operators.items()):
        if name not in plain:
            print(f"  {name:28} " + "  ".join(f"{result} {counts[result]}" for result in sorted(counts)))


def _counts(outcomes: Iterable[Outcome]) -> str:
    counts = Counter(outcome.result for outcome in outcomes)
    return "  ".join(f"{result} {counts[result]}" for result in sorted(counts)) + f"  of {counts.total()}"


def _why(outcome: Outcome) -> tuple[str, str]:
    """The reason without the names of one model, so that equal ones add up."""
    return outcome.result, re.sub(r"^not imported: [^:]*: ", "not imported: ", outcome.detail)[:140]


if __name__ == "__main__":
    main()
