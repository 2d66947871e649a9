"""Loads, stores and local buffers, as machine code of every emitter and CPU level, against NumPy."""

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
)
from rlx_base.dtypes import DTYPES, FLOAT32, INDEX, INT32
from rlx_compiler.loops.ir import (
    Allocate,
    Apply,
    Bitcast,
    Buffer,
    Cast,
    For,
    Kernel,
    Literal,
    Load,
    Ramp,
    Size,
    Store,
    Var,
)
from rlx_ir.dims import Symbol

I = Var("i")
rng = np.random.default_rng(7)


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
