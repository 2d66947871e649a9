"""Loops, registers and guards, as machine code of every emitter and CPU level, against NumPy."""

from __future__ import annotations

import itertools

import numpy as np

from libs.rlx_compiler.tests.native import (
    everywhere,
    load,
    number,
    over,
    plus,
    program_of,
    program_of_many,
    spread,
)
from rlx_base.dtypes import BOOL, FLOAT32, INDEX
from rlx_compiler.loops.ir import (
    Accumulator,
    Apply,
    Assign,
    Broadcast,
    Buffer,
    Element,
    Expr,
    Fma,
    For,
    If,
    Kernel,
    Let,
    Literal,
    Load,
    Select,
    Stmt,
    Store,
    Var,
)
from rlx_compiler.options import CompileOptions
from rlx_compiler.targets import resolve

I = Var("i")
rng = np.random.default_rng(7)


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


def test_a_sum_reads_again_what_the_nest_reads_again() -> None:
    # Merged, the four values would be kept in registers between the two rounds of sums.
    x, out = Buffer("x", FLOAT32, (64,)), Buffer("out", FLOAT32, (64,), access="write")
    rounds = [
        Assign("acc", (i,), Fma(Load(x, (number(16 * i),), 16), spread(Load(x, (number(0),), 16), 2.0), element))
        for _ in range(2)
        for i, element in enumerate(Element("acc", (i,), FLOAT32, 16) for i in range(4))
    ]
    body = (
        Accumulator("acc", FLOAT32, 16, (4,), spread(Load(x, (number(0),), 16), 0.0)),
        *rounds,
        *[Store(out, (number(16 * i),), Element("acc", (i,), FLOAT32, 16)) for i in range(4)],
    )
    program = program_of(Kernel("k", (x, out), body))
    resolved = resolve(CompileOptions("llvm"))
    text = resolved.target.emit(program, resolved.spec)["kernel.ll"]
    assert text.count("fence syncscope") == 1
    array = rng.standard_normal(64).astype(np.float32)
    (result,) = load(program).run(array)
    np.testing.assert_allclose(result, 4 * array, rtol=1e-6)
