"""One cell of the matrix: a family of ops or a model, compiled for a target and run by whatever runs its bundles.

All cases of a family become one module, as a target would meet them in a network. Where that cannot be compiled or
gives a wrong answer, each op is tried alone, so that the cell names the ops at fault.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from libs.rlx_compiler.tests.grids import computed_by
from libs.rlx_compiler.tests.harness import LOOSER, described, drawn, merged
from rlx_base.errors import ArtifactError, RlxError
from rlx_base.tolerance import Tolerance, mismatch
from rlx_compiler import CompileOptions, compile_module
from rlx_compiler.targets import find_target
from rlx_ir.module import Module
from rlx_ir.op import OPS
from rlx_ir.testing import Case, covered_ops
from rlx_runtime import load
from rlx_runtime.runners import find_runner

__all__ = ["Cell", "Result", "families", "model_cell", "ops_cell"]

Result = Literal["passed", "failed", "refused", "accepted"]
"""`accepted`: nothing here runs it, and the target's own tools took the code. `refused`: the compiler said in words
that the target cannot hold it."""

LEVEL = 3
# A network adds up more terms than one op does.
MODEL_TOLERANCE = Tolerance(1e-3, 1e-4)


@dataclass(frozen=True)
class Cell:
    """What came of a row on a target. `cases` is how many programs or models were compared, or accepted."""

    row: str
    target: str
    result: Result
    cases: int
    detail: str = ""


def families() -> Mapping[str, Sequence[str]]:
    """The ops by the file that defines them, both sorted: `convolution`, `reduction`, …"""
    found: dict[str, list[str]] = {}
    for name in covered_ops():
        family = OPS[name].__module__.rpartition(".")[2]
        found.setdefault(family, []).append(name)
    return dict(sorted(found.items()))


def ops_cell(family: str, target: str, ops: Iterable[str], count: int) -> Cell:
    """`count` generated cases of each op, compared with the interpreter's references; without those of a dtype that the
    device does not have.
    """
    batches = {op: computed_by(target, drawn(op, count)) for op in ops}
    every = [case for batch in batches.values() for case in batch]
    runs = runs_here(target)
    whole = _outcome(every, target, runs)
    if whole is None:
        return Cell(family, target, "passed" if runs is None else "accepted", len(every), runs or "")
    alone = {op: _outcome(batch, target, runs) for op, batch in batches.items() if batch}
    wrong = {op: found for op, found in alone.items() if found is not None}
    if not wrong:
        return Cell(family, target, "failed", 0, f"all ops together: {whole[1]}")
    passed = sum(len(batches[op]) for op in alone.keys() - wrong.keys())
    result: Result = "refused" if all(kind == "refused" for kind, _ in wrong.values()) else "failed"
    return Cell(family, target, result, passed, "; ".join(f"{op}: {why}" for op, (_, why) in wrong.items()))


def model_cell(name: str, module: Module, inputs: Mapping[str, Any], target: str, expected: Mapping[str, Any]) -> Cell:
    """A model on given inputs, compared with what is expected of it."""
    runs = runs_here(target)
    with tempfile.TemporaryDirectory() as scratch:
        try:
            compile_module(module, CompileOptions(target, LEVEL), Path(scratch) / "bundle")
            if runs is not None:
                return Cell(name, target, "accepted", 1, runs)
            with load(Path(scratch) / "bundle", threads=1) as model:
                results = model.run(inputs)
        except RlxError as error:
            return Cell(name, target, *_failure(error))
    for key, wanted in expected.items():
        if difference := mismatch(results[key], wanted, MODEL_TOLERANCE):
            return Cell(name, target, "failed", 0, f"{key}: {difference}")
    return Cell(name, target, "passed", 1)


def runs_here(target: str) -> str | None:
    """None where bundles of the target run here; else why not, and which tools took the code instead."""
    name = target.partition(":")[0]
    try:
        find_runner(name)
    except ArtifactError as error:
        tools = ", ".join(find_target(name).toolchain())
        why = error.message.rpartition(": ")[2] if error.code.endswith("E312") else "no runner"
        return f"not runnable here ({why}); accepted by {tools}"
    return None


def _outcome(batch: Sequence[Case], target: str, runs: str | None) -> tuple[Result, str] | None:
    """None where all is right; else which result and why."""
    if not batch:
        return None
    values = {f"c{i}_{name}": array for i, case in enumerate(batch) for name, array in case.inputs.items()}
    with tempfile.TemporaryDirectory() as scratch:
        try:
            compile_module(merged(batch), CompileOptions(target, LEVEL), Path(scratch) / "bundle")
            if runs is not None:
                return None
            with load(Path(scratch) / "bundle", threads=1) as model:
                results = model.run(values)
        except RlxError as error:
            result, _, why = _failure(error)
            return result, why
    for number, case in enumerate(batch):
        for place, expected in enumerate(case.expected()):
            found = results[f"c{number}_{place}"]
            if difference := mismatch(found, expected, LOOSER.get(expected.dtype.name)):
                return "failed", f"{described(case)}: {difference}"
    return None


def _failure(error: RlxError) -> tuple[Result, int, str]:
    told = (error.caused_by or "").strip().splitlines()[:1]
    words = " ".join([f"{error.code}: {error.message.splitlines()[0]}", *(f"({line})" for line in told)])
    return ("refused" if error.status == 422 else "failed"), 0, words
