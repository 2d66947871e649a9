"""Many generated cases of ops in one compilation: drawn by Hypothesis, run as machine code, compared with references.

A compilation per case would take hours. So the cases of a batch become one module, whose nodes have nothing to do
with each other, compiled once for each target. Where a batch cannot be compiled, each case is tried alone, so that the
failure names its case.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings

from libs.rlx_compiler.tests.native import Native, load
from rlx_base.dtypes import DType
from rlx_base.tolerance import Tolerance, mismatch
from rlx_compiler.options import CompileOptions
from rlx_compiler.pipeline import lower
from rlx_compiler.targets import resolve
from rlx_ir.builder import ModuleBuilder
from rlx_ir.module import Module
from rlx_ir.testing import Case, cases

# Sums are taken in another order than the reference's, and float16 rounds once at the end.
LOOSER = {"float32": Tolerance(1e-5, 1e-6), "float16": Tolerance(8e-3, 1e-3), "float64": Tolerance(1e-12, 1e-13)}
LOOSER |= {"bfloat16": Tolerance(3e-2, 1e-3), "float8_e4m3fn": Tolerance(0.13, 0.03)}


def drawn(op: str, count: int, dtypes: Sequence[DType] | None = None) -> list[Case]:
    """`count` different cases of an op, the same ones in each run."""
    found: list[Case] = []

    @settings(
        max_examples=count,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(cases(op, dtypes))
    def collect(case: Case) -> None:
        found.append(case)

    collect()
    return found


def merged(batch: Sequence[Case]) -> Module:
    """One module that computes all cases: input `c3_a` is operand `a` of case 3, output `c3_0` its first result."""
    build = ModuleBuilder("batch")
    for number, case in enumerate(batch):
        given = [
            None if type is None else build.input(f"c{number}_{name}", type)
            for name, type in zip(case.names, case.types, strict=True)
        ]
        node = build.node(case.op, *given)
        for place, result in enumerate(node.results):
            build.output(f"c{number}_{place}", result.name)
    return build.build()


@dataclass(frozen=True)
class Target:
    """A target with its CPU; `level` decides the loops, the code is made quickly."""

    name: str
    cpu: str = "host"
    level: int = 3

    def __str__(self) -> str:
        return f"{self.name}:{self.cpu}:{self.level}"

    def compiled(self, module: Module) -> Native:
        options = CompileOptions(self.name, self.level, self.cpu)
        return load(lower(module, resolve(options).spec, options).program, self.name, self.cpu, opt_level=1)


def results(batch: Sequence[Case], target: Target, threads: int = 1) -> list[list[np.ndarray[Any, Any]]]:
    """What the compiled code gives for each case."""
    native = target.compiled(merged(batch))
    values = {f"c{i}_{name}": array for i, case in enumerate(batch) for name, array in case.inputs.items()}
    outputs = native.run(*[values[port.name] for port in native.program.inputs], threads=threads)
    named = {port.name: array for port, array in zip(native.program.outputs, outputs, strict=True)}
    return [[named[f"c{i}_{k}"] for k in range(len(case.op.infer(*case.types)))] for i, case in enumerate(batch)]


def check(batch: Sequence[Case], target: Target, threads: int = 1) -> None:
    """Every case within the tolerance of its dtype."""
    try:
        found = results(batch, target, threads)
    except Exception:
        if len(batch) == 1:
            raise AssertionError(f"{target}: {described(batch[0])}") from None
        for case in batch:
            results([case], target)
        raise
    wrong = []
    for case, arrays in zip(batch, found, strict=True):
        for actual, expected in zip(arrays, case.expected(), strict=True):
            difference = mismatch(actual, expected, LOOSER.get(expected.dtype.name))
            if difference is not None:
                wrong.append(f"{described(case)}: {difference}")
    assert not wrong, f"{target}: {len(wrong)} wrong, first:\n" + "\n".join(wrong[:5])


def described(case: Case) -> str:
    """The op with its operands' types."""
    operands = [f"{name}: {type}" for name, type in zip(case.names, case.types, strict=True) if type is not None]
    return f"{case.op} of {', '.join(operands)}"
