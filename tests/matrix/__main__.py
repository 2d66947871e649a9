"""Fills the matrix and writes `build/reports/matrix.json`: each family of ops and each example model on each target.

Example: python -m tests.matrix --target wasm,riscv64 --count 12
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path

from rlx_compiler.targets import target_names, usable_targets
from tests.matrix.cells import Cell, families, model_cell, ops_cell
from tests.matrix.models import examples

REPORT = Path("build/reports/matrix.json")
SIGNS = {"passed": "✓", "failed": "✗", "refused": "–", "accepted": "a"}


def main() -> int:
    parser = argparse.ArgumentParser(prog="matrix", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--target", default="all", help="all, or several with commas; llvm:CPU for a device")
    parser.add_argument("--count", type=int, default=6, help="generated cases of each op")
    parser.add_argument("--family", action="append", help="only this family of ops")
    parser.add_argument("--no-models", action="store_true", help="ops alone")
    parser.add_argument("--report", type=Path, default=REPORT)
    asked = parser.parse_args()
    targets = target_names() if asked.target == "all" else asked.target.split(",")
    missing = sorted({target for target in targets if target.partition(":")[0] not in usable_targets()})
    for target in missing:
        print(f"{target}: left out, its tools are not installed here")
    cells: list[Cell] = []
    for target in (one for one in targets if one not in missing):
        start = time.monotonic()
        for family, ops in families().items():
            if not asked.family or family in asked.family:
                cells.append(ops_cell(family, target, ops, asked.count))
        if not asked.no_models:
            cells += [model_cell(one.name, one.module, one.inputs, target, one.expected) for one in examples()]
        mine = [cell for cell in cells if cell.target == target]
        counts = Counter(cell.result for cell in mine)
        told = ", ".join(f"{count} {result}" for result, count in sorted(counts.items()))
        print(f"{target:18} {told}  ({sum(c.cases for c in mine)} cases, {time.monotonic() - start:.0f} s)", flush=True)
    _show(cells)
    asked.report.parent.mkdir(parents=True, exist_ok=True)
    report = {"count": asked.count, "left_out": missing, "cells": [asdict(cell) for cell in cells]}
    asked.report.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"written: {asked.report}")
    return int(any(cell.result == "failed" for cell in cells))


def _show(cells: list[Cell]) -> None:
    targets = list(dict.fromkeys(cell.target for cell in cells))
    print("\n" + " " * 24 + " ".join(targets))
    for row in dict.fromkeys(cell.row for cell in cells):
        found = {cell.target: SIGNS[cell.result] for cell in cells if cell.row == row}
        print(f"{row:24}" + " ".join(f"{found.get(target, ''):^{len(target)}}" for target in targets))
    print("✓ passed, a accepted by its tools and not runnable here, – refused in words, ✗ failed")
    for cell in cells:
        if cell.result in ("failed", "refused"):
            print(f"{cell.target} {cell.row}: {cell.result}: {cell.detail[:600]}")
    for target in targets:
        told = {cell.detail for cell in cells if cell.target == target and cell.result == "accepted"}
        for detail in sorted(told):
            print(f"{target}: {detail}")


if __name__ == "__main__":
    sys.exit(main())
