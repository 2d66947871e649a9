"""Integers and constants, as machine code of every emitter and CPU level, against NumPy."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from libs.rlx_compiler.tests.native import (
    elementwise,
    everywhere,
    load,
    number,
    program_of_many,
)
from rlx_base.dtypes import DTYPES
from rlx_compiler.loops.ir import (
    Apply,
    Broadcast,
    Buffer,
    Expr,
    Kernel,
    Literal,
    Store,
    Var,
)

I = Var("i")


INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


def _edges(kind: np.dtype[Any]) -> np.ndarray[Any, Any]:
    info = np.iinfo(kind)
    values = [info.min, info.min + 1, -7, -2, -1, 0, 1, 2, 7, info.max // 2, info.max - 1, info.max]
    return np.unique(np.array([v for v in values if info.min <= v <= info.max], kind))


@everywhere
@pytest.mark.parametrize("lanes", [1, 4])
def test_integers_wrap_and_never_trap(target: str, cpu: str, lanes: int) -> None:
    from rlx_ir.scalar import SCALARS

    functions = ["add", "sub", "mul", "div", "rem", "floor_div", "mod", "max", "min", "and", "or", "xor"]
    kernels, sources, wanted = [], [], []
    for name, function in itertools.product(INTEGERS, functions):
        dtype = DTYPES[name]
        edges = _edges(np.dtype(name))
        a, b = (np.resize(v, 144) for v in np.meshgrid(edges, edges, indexing="ij"))
        kernels.append(
            elementwise(
                lambda x, y, f=function: Apply(f, (x, y), x.dtype),
                [dtype, dtype],
                dtype,
                144,
                lanes,
                f"{name}_{function}",
            )
        )
        sources += [a, b]
        with np.errstate(all="ignore"):
            wanted.append(np.asarray(SCALARS[function].apply(a, b)).astype(dtype.numpy))
    for name, function in itertools.product(INTEGERS, ["neg", "abs", "not"]):
        dtype = DTYPES[name]
        x = np.resize(_edges(np.dtype(name)), 16)
        kernels.append(
            elementwise(lambda x, f=function: Apply(f, (x,), x.dtype), [dtype], dtype, 16, lanes, f"{name}_{function}")
        )
        sources.append(x)
        with np.errstate(all="ignore"):
            wanted.append(np.asarray(SCALARS[function].apply(x)).astype(dtype.numpy))
    for kernel, result, want in zip(
        kernels, load(program_of_many(kernels), target, cpu).run(*sources), wanted, strict=True
    ):
        np.testing.assert_array_equal(result, want, err_msg=kernel.name)


@everywhere
def test_powers_and_shifts_of_integers(target: str, cpu: str) -> None:
    kernels, sources, wanted = [], [], []
    for name in INTEGERS:
        dtype = DTYPES[name]
        base = np.resize(_edges(np.dtype(name)), 64)
        exponent = np.arange(64).astype(name) % 9
        kernels.append(
            elementwise(lambda x, y: Apply("pow", (x, y), x.dtype), [dtype] * 2, dtype, 64, 4, f"{name}_pow")
        )
        sources += [base, exponent]
        wanted.append(base**exponent)
        count = (np.arange(64) % dtype.bits).astype(name)
        for function, shift in (("shl", np.left_shift), ("shr", np.right_shift)):
            kernels.append(
                elementwise(
                    lambda x, y, f=function: Apply(f, (x, y), x.dtype), [dtype] * 2, dtype, 64, 4, f"{name}_{function}"
                )
            )
            sources += [base, count]
            wanted.append(shift(base, count))
    for kernel, result, want in zip(
        kernels, load(program_of_many(kernels), target, cpu).run(*sources), wanted, strict=True
    ):
        np.testing.assert_array_equal(result, want, err_msg=kernel.name)


CONSTANTS = {
    "float64": [0.1, -0.0, 1e300, 5e-324, np.inf, -np.inf, np.nan, 3.0],
    "float32": [0.1, -0.0, 1e30, 1e-45, np.inf, 1e300, np.nan, -2.5],
    "float16": [0.1, -0.0, 65504, 6e-8, np.inf, -1e9, np.nan, -2.5],
    **{name: [0, 1, np.iinfo(name).max, np.iinfo(name).min, 5, 6, 7, 8] for name in INTEGERS},
    "bool": [True, False] * 4,
}


@everywhere
@pytest.mark.parametrize("lanes", [1, 8])
def test_constants_are_exact(target: str, cpu: str, lanes: int) -> None:
    kernels, wanted = [], []
    for name, values in CONSTANTS.items():
        dtype = DTYPES[name]
        out = Buffer("out", dtype, (8, lanes), access="write")
        literals = [Literal(v if name == "bool" else float(v) if dtype.is_float else int(v), dtype) for v in values]
        spread: list[Expr] = [literal if lanes == 1 else Broadcast(literal, lanes) for literal in literals]
        body = tuple(Store(out, (number(i * lanes),), value) for i, value in enumerate(spread))
        kernels.append(Kernel(name, (out,), body))
        with np.errstate(over="ignore"):
            wanted.append(np.repeat(np.array(values, name)[:, None], lanes, 1))
    for kernel, result, want in zip(kernels, load(program_of_many(kernels), target, cpu).run(), wanted, strict=True):
        np.testing.assert_array_equal(result, want, err_msg=kernel.name)
        if "float" in kernel.name:
            np.testing.assert_array_equal(np.signbit(result), np.signbit(want), err_msg=kernel.name)
