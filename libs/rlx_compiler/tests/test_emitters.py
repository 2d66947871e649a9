"""Hand-written kernels, as machine code of every emitter and CPU level, against NumPy."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from libs.rlx_compiler.tests.native import elementwise, load, number, program_of
from rlx_base.dtypes import BOOL, DTYPES, FLOAT32, FLOAT64, INDEX, INT32
from rlx_compiler.loops.ir import (
    Accumulator,
    Allocate,
    Apply,
    Assign,
    Bitcast,
    Broadcast,
    Buffer,
    Cast,
    Element,
    Expr,
    Fma,
    Fold,
    For,
    If,
    Kernel,
    Let,
    Literal,
    Load,
    Ramp,
    Select,
    Size,
    Stmt,
    Store,
    Var,
)
from rlx_compiler.loops.program import Argument, Launch, Port, Program
from rlx_ir.dims import Symbol

TARGETS = [("llvm", "host"), ("llvm", "x86-64-v2"), ("c", "host"), ("c", "x86-64")]
everywhere = pytest.mark.parametrize(("target", "cpu"), TARGETS, ids=[f"{t}:{c}" for t, c in TARGETS])
I = Var("i")
rng = np.random.default_rng(7)


def over(stop: int, *body: Stmt, step: int = 1, var: str = "i", kind: Any = "serial") -> For:
    return For(var, number(0), number(stop), body, step, kind)


def plus(a: Expr, b: Expr | int) -> Expr:
    return Apply("add", (a, number(b) if isinstance(b, int) else b), a.dtype)


def program_of_many(kernels: list[Kernel]) -> Program:
    """One launch per kernel; the last parameter of each is its output."""
    inputs, outputs, launches = [], [], []
    for kernel in kernels:
        arguments = [Argument("input", len(inputs) + i) for i in range(len(kernel.params) - 1)]
        inputs += [Port(f"{kernel.name}.{b.name}", b.dtype, b.shape) for b in kernel.params[:-1]]
        last = kernel.params[-1]
        arguments.append(Argument("output", len(outputs)))
        outputs.append(Port(kernel.name, last.dtype, last.shape))
        launches.append(Launch(kernel.name, kernel.name, tuple(arguments), (), 0, 0))
    return Program("many", tuple(kernels), tuple(launches), tuple(inputs), tuple(outputs), (), 0, 0)


@everywhere
@pytest.mark.parametrize("lanes", [1, 3, 4, 8, 16, 24])
def test_adding_two_vectors(target: str, cpu: str, lanes: int) -> None:
    kernel = elementwise(lambda a, b: Apply("add", (a, b), FLOAT32), [FLOAT32, FLOAT32], FLOAT32, 5 * lanes, lanes)
    a, b = rng.standard_normal((2, 5 * lanes)).astype(np.float32)
    (result,) = load(program_of(kernel), target, cpu).run(a, b)
    np.testing.assert_array_equal(result, a + b)


@everywhere
def test_strided_and_partial_accesses_touch_what_they_should(target: str, cpu: str) -> None:
    kernels, sources, wanted = [], [], []
    for dtype, lanes, stride, active in itertools.product(
        ("float32", "float64", "int8", "bool", "float16"), (1, 5, 16), (1, 3), (None, 0, 1, 4, 40)
    ):
        kind = DTYPES[dtype]
        count = lanes if active is None else min(lanes, active)
        source = Buffer("source", kind, (stride * 15 + 3,))
        out = Buffer("out", kind, (2 * 15 + 3,), access="write")
        first = None if active is None else number(active)
        read = Load(source, (number(2),), lanes, stride, first)
        kernels.append(Kernel(f"k{len(kernels)}", (source, out), (Store(out, (number(1),), read, 2, first),)))
        array = (rng.standard_normal(source.shape) * 3).astype(kind.numpy)
        result = np.zeros(out.shape, kind.numpy)
        result[1 : 1 + 2 * count : 2] = array[2 : 2 + stride * count : stride]
        sources.append(array)
        wanted.append(result)
    for result, want in zip(load(program_of_many(kernels), target, cpu).run(*sources), wanted, strict=True):
        np.testing.assert_array_equal(result, want)


@everywhere
def test_a_partial_load_reads_zeros_beyond_its_end(target: str, cpu: str) -> None:
    source, out = Buffer("source", FLOAT32, (16,)), Buffer("out", FLOAT32, (16,), access="write")
    kernel = Kernel("k", (source, out), (Store(out, (number(0),), Load(source, (number(0),), 16, 1, number(5))),))
    (result,) = load(program_of(kernel), target, cpu).run(np.ones(16, np.float32))
    np.testing.assert_array_equal(result, [1] * 5 + [0] * 11)


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


@everywhere
def test_a_tile_of_accumulators_multiplies_matrices(target: str, cpu: str) -> None:
    m, n, k, lanes = 4, 32, 9, 16
    a, b = Buffer("a", FLOAT32, (m, k)), Buffer("b", FLOAT32, (k, n))
    c = Buffer("c", FLOAT32, (m, n), access="write")
    r = Var("r")
    tile = [(i, j) for i in range(m) for j in range(n // lanes)]

    def element(place: tuple[int, int]) -> Element:
        return Element("acc", place, FLOAT32, lanes)

    steps: list[Stmt] = [
        Let(f"b{j}", Load(b, (plus(Apply("mul", (r, number(n)), INDEX), j * lanes),), lanes)) for j in range(n // lanes)
    ]
    for i, j in tile:
        left = Broadcast(Load(a, (plus(r, i * k),)), lanes)
        steps.append(Assign("acc", (i, j), Fma(left, Var(f"b{j}", FLOAT32, lanes), element((i, j)))))
    body = (
        Accumulator("acc", FLOAT32, lanes, (m, n // lanes), Broadcast(Literal(0.0, FLOAT32), lanes)),
        over(k, *steps, var="r"),
        *[Store(c, (number(i * n + j * lanes),), element((i, j))) for i, j in tile],
    )
    x, y = rng.standard_normal((m, k)).astype(np.float32), rng.standard_normal((k, n)).astype(np.float32)
    (result,) = load(program_of(Kernel("matmul", (a, b, c), body)), target, cpu).run(x, y)
    np.testing.assert_allclose(result, x @ y, rtol=1e-5, atol=1e-6)


@everywhere
def test_a_scalar_select_and_an_if_guard_what_would_be_out_of_bounds(target: str, cpu: str) -> None:
    # An index of −2⁴⁰ faults unless it is not evaluated.
    source, out = Buffer("source", FLOAT32, (4,)), Buffer("out", FLOAT32, (8, 4), access="write")
    inside = Apply("lt", (I, number(4)), BOOL)
    far = Apply("mul", (Apply("sub", (I, number(3)), INDEX), number(-(2**40))), INDEX)
    safe = Apply("min", (I, number(3)), INDEX)
    index = Select(inside, safe, far)
    zero = Literal(0.0, FLOAT32)
    row = Apply("mul", (I, number(4)), INDEX)
    body = over(
        8,
        Store(out, (row,), Select(inside, Load(source, (index,)), zero)),
        # Shared parts inside the guarded side.
        Let("twice", Select(inside, _twice(Load(source, (index,))), zero)),
        Store(out, (plus(row, 1),), Var("twice", FLOAT32)),
        If(inside, (Store(out, (plus(row, 2),), Load(source, (index,))),), (Store(out, (plus(row, 2),), zero),)),
        If(inside, (Store(out, (plus(row, 3),), Load(source, (index,))),)),
    )
    x = rng.standard_normal(4).astype(np.float32)
    (result,) = load(program_of(Kernel("k", (source, out), (body,))), target, cpu).run(x)
    want = np.zeros((8, 4), np.float32)
    want[:4] = x[:, None] * [1, 2, 1, 1]
    np.testing.assert_array_equal(result, want)


def _twice(x: Expr) -> Expr:
    return Apply("add", (x, x), x.dtype)


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
                    Apply("and", (Apply("gt", (c, _like(c, 1.5)), BOOL), Apply("lt", (c, _like(c, 9.0)), BOOL)), BOOL),
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


def _like(model: Expr, value: float) -> Expr:
    literal = Literal(value, model.dtype)
    return literal if model.lanes == 1 else Broadcast(literal, model.lanes)


@everywhere
def test_loops_that_do_not_run_and_bounds_that_are_values(target: str, cpu: str) -> None:
    bounds, out = Buffer("bounds", INDEX, (3, 2)), Buffer("out", INDEX, (4,), access="write")
    total = Element("total", (), INDEX, 1)
    row = Var("row")
    at = Apply("mul", (row, number(2)), INDEX)
    inner = For("i", Load(bounds, (at,)), Load(bounds, (plus(at, 1),)), (Assign("total", (), plus(total, I)),), step=3)
    body = (
        over(3, Accumulator("total", INDEX, 1, (), number(0)), inner, Store(out, (row,), total), var="row"),
        Accumulator("unset", INDEX, 1, (2,)),
        Assign("unset", (1,), number(5)),
        Store(out, (number(3),), Element("unset", (1,), INDEX, 1)),
    )
    (result,) = load(program_of(Kernel("k", (bounds, out), body)), target, cpu).run(np.array([[0, 10], [7, 7], [9, 2]]))
    np.testing.assert_array_equal(result, [0 + 3 + 6 + 9, 0, 0, 5])


@everywhere
def test_local_buffers_ramps_and_bits(target: str, cpu: str) -> None:
    out = Buffer("out", INT32, (3, 8), access="write")
    local = Buffer("scratch", INT32, (8,), "local", "update")
    body = (
        Allocate(local),
        Store(local, (number(0),), Ramp(Literal(5, INT32), 8)),
        Store(out, (number(0),), Load(local, (number(7),), 8, -1)),
        Store(out, (number(8),), Bitcast(Ramp(Literal(1.0, FLOAT32), 8), INT32)),
        over(8, Store(local, (I,), Cast(I, INT32))),
        over(8, Store(out, (plus(I, 16),), Load(local, (Apply("xor", (I, number(3)), INDEX),)))),
    )
    (result,) = load(program_of(Kernel("k", (out,), body)), target, cpu).run()
    np.testing.assert_array_equal(result[0], np.arange(12, 4, -1))
    np.testing.assert_array_equal(result[1].view(np.float32), np.arange(1, 9))
    np.testing.assert_array_equal(result[2], np.arange(8) ^ 3)


@everywhere
def test_symbolic_sizes_come_from_the_call(target: str, cpu: str) -> None:
    shape = (Symbol("N"), Symbol("M"))
    out = Buffer("out", INDEX, shape, access="write")
    n, m = Size("N"), Size("M")
    size = Apply("mul", (n, m), INDEX)
    loop = For("i", number(0), size, (Store(out, (I,), Apply("mul", (I, m), INDEX)),), kind="parallel")
    native = load(program_of(Kernel("k", (out,), (loop,)), dims=("M", "N")), target, cpu)
    (result,) = native.run(dims=(3, 5), threads=2)
    np.testing.assert_array_equal(result, np.arange(15).reshape(5, 3) * 3)


@everywhere
def test_each_iteration_of_a_parallel_loop_belongs_to_one_thread(target: str, cpu: str) -> None:
    kernels = []
    for start, stop, step in itertools.product((0, 3), (0, 2, 7, 64), (1, 4)):
        out = Buffer("out", INDEX, (70,), access="update")
        where = (I,)
        body = For("i", number(start), number(stop), (Store(out, where, plus(Load(out, where), 1)),), step, "parallel")
        kernels.append(Kernel(f"from_{start}_to_{stop}_by_{step}", (out,), (body,)))
    native = load(program_of_many(kernels), target, cpu)
    for threads in (1, 2, 3, 7):
        results = native.run(threads=threads)
        cases = itertools.product((0, 3), (0, 2, 7, 64), (1, 4))
        for (start, stop, step), result in zip(cases, results, strict=True):
            want = np.zeros(70, np.int64)
            want[start:stop:step] = 1
            np.testing.assert_array_equal(result, want, err_msg=f"{threads} threads, {start}:{stop}:{step}")


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


@everywhere
def test_truth_is_kept_in_registers_and_chosen_lazily(target: str, cpu: str) -> None:
    x, flag = Buffer("x", FLOAT32, (8,)), Buffer("flag", BOOL, (1,))
    out = Buffer("out", BOOL, (4, 8), access="write")
    positive = Apply("gt", (Load(x, (number(0),), 8), _like(Load(x, (number(0),), 8), 0.0)), BOOL)
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
