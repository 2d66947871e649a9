"""Running modules on GPU targets as a user does: a bundle, loaded by the runner of its target. For tests."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from libs.rlx_compiler.tests.harness import LOOSER, described, merged
from rlx_base.errors import ArtifactError
from rlx_base.tolerance import mismatch
from rlx_compiler import CompileOptions, CompileResult, compile_module
from rlx_ir.module import Module
from rlx_ir.testing import Case
from rlx_runtime import load
from rlx_runtime.runners import find_runner

Array = NDArray[Any]

RUNNING = ("opencl", "opencl:x86-64-v3", "vulkan", "webgpu")
LACKING = {"webgpu": ("float64",), "metal": ("float64",)}
# What a target holds in fewer bits than its dtype says.
NARROWED = {"webgpu": ("int64", "uint64")}


def require(target: str) -> None:
    """Skips where nothing runs the target here, and says why."""
    try:
        find_runner(target.partition(":")[0])
    except ArtifactError as error:
        pytest.skip(str(error).splitlines()[0])


def run(module: Module, target: str, inputs: Mapping[str, Array], level: int = 3) -> tuple[CompileResult, list[Array]]:
    """The compilation, and the outputs in order."""
    with tempfile.TemporaryDirectory() as folder:
        result = compile_module(module, CompileOptions(target, level), Path(folder) / "bundle")
        with load(Path(folder) / "bundle", threads=1) as loaded:
            return result, list(loaded.run(inputs).values())


def computed_by(target: str, cases: Sequence[Case]) -> list[Case]:
    """The cases whose dtypes and numbers the target has."""
    name = target.partition(":")[0]
    return [case for case in cases if not _lacks(name, case)]


def _lacks(target: str, case: Case) -> bool:
    types = [type for type in (*case.types, *case.op.infer(*case.types)) if type is not None]
    if any(type.dtype.name in LACKING.get(target, ()) for type in types):  # type: ignore[union-attr]
        return True
    arrays = [*case.inputs.values(), *case.expected()]
    return any(
        str(array.dtype) in NARROWED.get(target, ()) and array.size and np.abs(array.astype(float)).max() >= 2**31
        for array in arrays
    )


def check(batch: Sequence[Case], target: str) -> None:
    """Every case within the tolerance of its dtype."""
    cases = computed_by(target, batch)
    if not cases:
        pytest.skip(f"{target} has none of the dtypes")
    values = {f"c{i}_{name}": array for i, case in enumerate(cases) for name, array in case.inputs.items()}
    _, outputs = run(merged(cases), target, values)
    found = iter(outputs)
    wrong = []
    for case in cases:
        for expected in case.expected():
            difference = mismatch(next(found), expected, LOOSER.get(expected.dtype.name))
            if difference is not None:
                wrong.append(f"{described(case)}: {difference}")
    assert not wrong, f"{target}: {len(wrong)} wrong, first:\n" + "\n".join(wrong[:5])
