"""Arithmetic on vectors and scalars, as machine code of every emitter and CPU level, against NumPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from libs.rlx_compiler.tests.native import (
    elementwise,
    everywhere,
    load,
    number,
    program_of,
    program_of_many,
    spread,
)
from rlx_base.dtypes import BOOL, DTYPES, FLOAT32, FLOAT64
from rlx_compiler.loops.ir import (
    Accumulator,
    Apply,
    Assign,
    Broadcast,
    Buffer,
    Cast,
    Element,
    Fold,
    Kernel,
    Load,
    Select,
    Store,
    Var,
)

I = Var("i")
rng = np.random.default_rng(7)


@everywhere
@pytest.mark.parametrize("lanes", [1, 3, 4, 8, 16, 24])
def test_adding_two_vectors(target: str, cpu: str, lanes: int) -> None:
    kernel = elementwise(lambda a, b: Apply("add", (a, b), FLOAT32), [FLOAT32, FLOAT32], FLOAT32, 5 * lanes, lanes)
    a, b = rng.standard_normal((2, 5 * lanes)).astype(np.float32)
    (result,) = load(program_of(kernel), target, cpu).run(a, b)
    np.testing.assert_array_equal(result, a + b)


@everywhere
def test_folding_the_lanes_of_a_vector(target: str, cpu: str) -> None:
    kernels, sources, wanted = [], [], []
    kinds = {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min}
    for lanes, (kind, fold), name in itertools.product(
        (1, 2, 3, 7, 16), kinds.items(), ("float32", "int32", "float64")
    ):
        dtype = DTYPES[name]
        source, out = Buffer("source", dtype, (lanes,)), Buffer("out", dtype, (1,), access="write")
        value = Fold(kind, Load(source, (number(0),), lanes))
        kernels.append(Kernel(f"k{len(kernels)}", (source, out), (Store(out, (number(0),), value),)))
        array = np.round(rng.standard_normal(lanes) * 4).astype(dtype.numpy)
        if lanes == 7 and dtype.is_float and kind in ("max", "min"):
            array[3] = np.nan
        sources.append(array)
        wanted.append(fold(array, keepdims=True))
    for result, want in zip(load(program_of_many(kernels), target, cpu).run(*sources), wanted, strict=True):
        np.testing.assert_array_equal(result, want)


NUMBERS = ["float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"]


@everywhere
@pytest.mark.parametrize("lanes", [1, 8])
def test_casts_are_those_of_numpy(target: str, cpu: str, lanes: int) -> None:
    kernels, sources, wanted = [], [], []
    names = [*NUMBERS, "float16"]
    for source, result in itertools.product(names, names):
        a, b = DTYPES[source], DTYPES[result]
        kernels.append(elementwise(lambda x, b=b: Cast(x, b), [a], b, 32, lanes, f"{source}_to_{result}"))
        # Values that both hold.
        low = 0 if "u" in source + result or "bool" in (source, result) else -100
        values = rng.uniform(low, 120, 32)
        values[:4] = 0
        array = values.astype(a.numpy)
        sources.append(array)
        wanted.append(array.astype(b.numpy))
    for name, result, want in zip(
        [k.name for k in kernels], load(program_of_many(kernels), target, cpu).run(*sources), wanted, strict=True
    ):
        np.testing.assert_array_equal(result, want, err_msg=name)


@everywhere
@pytest.mark.parametrize("source", ["float32", "float64"])
def test_float16_rounds_once_to_nearest_even(target: str, cpu: str, source: str) -> None:
    kind = np.dtype(source)
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    finite = halves[np.isfinite(halves)].astype(kind)
    between = (finite + np.roll(finite, 1)) / kind.type(2)
    near = [np.nextafter(between, kind.type(s) * np.inf) for s in (-1, 1)]
    ends = np.array([65504, 65519.99, 65520, 65536, 1e30, np.inf, np.nan, 2.0**-25, 2.0**-24, 1e-30, 1e-45], kind)
    x = np.concatenate([halves.astype(kind), between, *near, ends, -ends])
    x = np.resize(x, -(-len(x) // 16) * 16)
    kernel = elementwise(lambda v: Cast(v, DTYPES["float16"]), [DTYPES[source]], DTYPES["float16"], len(x), 16)
    (result,) = load(program_of(kernel), target, cpu).run(x)
    with np.errstate(over="ignore"):
        want = x.astype(np.float16)
    numbers = ~np.isnan(want)
    np.testing.assert_array_equal(result.view(np.uint16)[numbers], want.view(np.uint16)[numbers])
    assert np.isnan(result[~numbers]).all()
    back = elementwise(lambda v: Cast(v, DTYPES[source]), [DTYPES["float16"]], DTYPES[source], 1 << 16, 16)
    (wide,) = load(program_of(back), target, cpu).run(halves)
    np.testing.assert_array_equal(wide, halves.astype(kind))


@everywhere
@pytest.mark.parametrize("lanes", [1, 8])
def test_comparisons_blends_and_truth(target: str, cpu: str, lanes: int) -> None:
    compare = {
        "eq": np.equal,
        "ne": np.not_equal,
        "lt": np.less,
        "le": np.less_equal,
        "gt": np.greater,
        "ge": np.greater_equal,
    }
    logic = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor, **compare}
    kernels, sources, wanted = [], [], []
    for name, (function, meaning) in itertools.product(NUMBERS, compare.items()):
        dtype = DTYPES[name]
        a, b = np.meshgrid([0, 1, 2, 3], [1, 0, 3, 2])
        a, b = a.ravel().astype(name), b.ravel().astype(name)
        if dtype.is_float:
            a[:2], b[1:3] = np.nan, np.nan
        kernels.append(
            elementwise(
                lambda x, y, f=function: Apply(f, (x, y), BOOL), [dtype] * 2, BOOL, 16, lanes, f"{name}_{function}"
            )
        )
        sources += [a, b]
        wanted.append(meaning(a, b))
    truth = np.array([0, 0, 1, 1] * 4, bool), np.array([0, 1, 0, 1] * 4, bool)
    for function, meaning in logic.items():
        kernels.append(
            elementwise(
                lambda x, y, f=function: Apply(f, (x, y), BOOL), [BOOL] * 2, BOOL, 16, lanes, f"truth_{function}"
            )
        )
        sources += truth
        wanted.append(meaning(*truth))
    kernels.append(elementwise(lambda x: Apply("not", (x,), BOOL), [BOOL], BOOL, 16, lanes, "truth_not"))
    sources.append(truth[0])
    wanted.append(~truth[0])
    for name in NUMBERS:
        # The condition comes from a comparison of another width.
        dtype = DTYPES[name]
        kernels.append(
            elementwise(
                lambda c, x, y: Select(
                    Apply(
                        "and", (Apply("gt", (c, spread(c, 1.5)), BOOL), Apply("lt", (c, spread(c, 9.0)), BOOL)), BOOL
                    ),
                    x,
                    y,
                ),
                [FLOAT64, dtype, dtype],
                dtype,
                16,
                lanes,
                f"blend_{name}",
            )
        )
        c, x, y = np.arange(16.0), (np.arange(16) % 2).astype(name), (np.arange(16) % 3 == 0).astype(name)
        sources += [c, x, y]
        wanted.append(np.where((c > 1.5) & (c < 9), x, y))
    for kernel, result, want in zip(
        kernels, load(program_of_many(kernels), target, cpu).run(*sources), wanted, strict=True
    ):
        np.testing.assert_array_equal(result, want, err_msg=kernel.name)


@everywhere
def test_truth_is_kept_in_registers_and_chosen_lazily(target: str, cpu: str) -> None:
    x, flag = Buffer("x", FLOAT32, (8,)), Buffer("flag", BOOL, (1,))
    out = Buffer("out", BOOL, (4, 8), access="write")
    positive = Apply("gt", (Load(x, (number(0),), 8), spread(Load(x, (number(0),), 8), 0.0)), BOOL)
    one = Load(flag, (number(0),))
    held = Element("held", (), BOOL, 8)
    body = (
        Accumulator("held", BOOL, 8, (), Broadcast(one, 8)),
        Store(out, (number(0),), held),
        Assign("held", (), Apply("xor", (held, positive), BOOL)),
        Store(out, (number(8),), held),
        # Masks of different widths on the two sides of a choice.
        Store(out, (number(16),), Select(one, positive, Load(out, (number(0),), 8))),
        Store(out, (number(24),), Select(Apply("not", (one,), BOOL), positive, Broadcast(one, 8))),
    )
    kernel = Kernel("k", (x, flag, Buffer("out", BOOL, (4, 8), access="update")), body)
    array = rng.standard_normal(8).astype(np.float32)
    for truth in (True, False):
        (result,) = load(program_of(kernel), target, cpu).run(array, np.array([truth]))
        rows = [np.full(8, truth), truth ^ (array > 0)]
        rows += [array > 0, np.full(8, True)] if truth else [np.full(8, False), array > 0]
        np.testing.assert_array_equal(result, rows)
