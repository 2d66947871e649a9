"""Compiling a module to loop IR and running that in Python: lowering is tested apart from every emitter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlx_base.tolerance import Tolerance, mismatch
from rlx_compiler.loops.interpret import run_program
from rlx_compiler.options import CompileOptions
from rlx_compiler.pipeline import Compiled, lower
from rlx_compiler.targets.cpu import describe_x86
from rlx_compiler.targets.spec import TargetSpec
from rlx_ir.module import Module

Array = NDArray[Any]

WIDE = describe_x86("llvm", "x86-64-v4")  # 16 lanes of float32
NARROW = describe_x86("llvm", "x86-64-v2")  # 4 lanes

# Sums are taken in another order than the reference's, and float16 rounds once at the end.
_LOOSER = {"float32": Tolerance(1e-5, 1e-6), "float16": Tolerance(8e-3, 1e-3), "float64": Tolerance(1e-12, 1e-13)}


def compiled(module: Module, spec: TargetSpec = WIDE, level: int = 3) -> Compiled:
    return lower(module, spec, CompileOptions(opt_level=level))


def check(found: Compiled, inputs: Mapping[str, Array], expected: Sequence[Array]) -> None:
    """The program's results, in order, are those expected."""
    results = run_program(found.program, inputs)
    for port, wanted in zip(found.program.outputs, expected, strict=True):
        assert results[port.name].shape == wanted.shape
        assert results[port.name].dtype == wanted.dtype
        difference = mismatch(results[port.name], wanted, _LOOSER.get(wanted.dtype.name))
        assert difference is None, f"{port.name}: {difference}"


def noise(*shape: int, seed: int = 0, dtype: str = "float32") -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)
