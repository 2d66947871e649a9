"""Preparing a nest for emitters changes its form and not what it computes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from libs.rlx_compiler.tests.interpreted import compiled, noise
from rlx_base.dtypes import FLOAT32, INDEX
from rlx_compiler.loops import build
from rlx_compiler.loops.address import dim_index, linear_addresses, linear_terms
from rlx_compiler.loops.expand import expand
from rlx_compiler.loops.interpret import run_kernel
from rlx_compiler.loops.ir import (
    Accumulator,
    Allocate,
    Apply,
    Assign,
    Body,
    Buffer,
    For,
    If,
    Kernel,
    Let,
    Literal,
    Load,
    Size,
    Store,
    Var,
)
from rlx_compiler.loops.prepare import prepare
from rlx_compiler.loops.rewrite import expressions, statements, walk
from rlx_ir.builder import ModuleBuilder
from rlx_ir.dims import Symbol, add, floor_div, mul, sub
from rlx_ir.module import Module
from rlx_ir.ops.convolution import Conv2d
from rlx_ir.types import TensorType


def convolution() -> Module:
    build_ = ModuleBuilder("m")
    x = build_.input("x", TensorType((1, 3, 9, 11), FLOAT32))
    w = build_.array("w", noise(20, 3, 3, 3))
    build_.output("y", build_.add(Conv2d(padding=(1, 1), strides=(2, 1)), x, w))
    return build_.build()


@pytest.fixture(scope="module")
def nests() -> list[Kernel]:
    return list(compiled(convolution()).nests.values())


def bound_names(body: Body) -> Iterator[str]:
    for statement in statements(body):
        match statement:
            case Let(name) | Accumulator(name) | For(name):
                yield name
            case Allocate(buffer):
                yield buffer.name


def test_a_prepared_kernel_has_no_unrolled_loop_and_one_index_per_access(nests: list[Kernel]) -> None:
    for nest in nests:
        prepared = prepare(nest)
        for statement in statements(prepared.body):
            assert not isinstance(statement, For) or statement.kind in ("serial", "parallel")
            if isinstance(statement, Store):
                assert len(statement.indices) == 1
            if isinstance(statement, Assign):
                assert all(isinstance(place, int) for place in statement.places)
            for expr in expressions(statement):
                assert all(len(part.indices) == 1 for part in walk(expr) if isinstance(part, Load))


def test_every_name_is_bound_once_and_is_no_buffer(nests: list[Kernel]) -> None:
    for nest in nests:
        names = list(bound_names(prepare(nest).body))
        assert len(set(names)) == len(names)
        assert not set(names) & {buffer.name for buffer in nest.params}


@pytest.mark.parametrize("step", [expand, linear_addresses, prepare], ids=lambda step: step.__name__)
def test_each_step_computes_the_same(nests: list[Kernel], step) -> None:  # type: ignore[no-untyped-def]
    for nest in nests:
        sizes = {b.name: int(np.prod([d for d in b.shape if isinstance(d, int)])) for b in nest.params}
        arrays = {name: noise(size, seed=size) for name, size in sizes.items()}
        before = {name: array.copy() for name, array in arrays.items()}
        after = {name: array.copy() for name, array in arrays.items()}
        run_kernel(nest, before)
        run_kernel(step(nest) if step is not linear_addresses else step(expand(nest)), after)
        for name in sizes:
            np.testing.assert_array_equal(before[name], after[name])


def test_addresses_are_computed_in_the_outermost_loop_they_allow() -> None:
    x, out = Buffer("x", FLOAT32, (4, 5, 6)), Buffer("out", FLOAT32, (4, 5, 6), access="write")
    i, j = Var("i"), Var("j")
    inner = Store(out, (i, j, build.index(2)), Load(x, (i, j, build.index(2))))
    loop = For("i", build.index(0), build.index(4), (For("j", build.index(0), build.index(5), (inner,)),))
    (outer,) = linear_addresses(Kernel("k", (x, out), (loop,))).body
    assert isinstance(outer, For)
    row, nested = outer.body
    assert row == Let("a0", build.mul(i, 30))
    assert isinstance(nested, For)
    place, store = nested.body
    assert place == Let("a1", build.add(Var("a0"), build.mul(j, 6)))
    assert isinstance(store, Store)
    assert store.indices == (build.add(Var("a1"), 2),)


def test_an_address_that_is_read_from_memory_stays_where_its_guard_is() -> None:
    at = Buffer("at", INDEX, (3,))
    x, out = Buffer("x", FLOAT32, (8,)), Buffer("out", FLOAT32, (3,), access="write")
    i = Var("i")
    guarded = If(build.less(i, 2), (Store(out, (i,), Load(x, (Load(at, (i,)),))),))
    kernel = Kernel("k", (at, x, out), (For("i", build.index(0), build.index(3), (guarded,)),))
    arrays = {"at": np.array([7, 0, 99]), "x": noise(8), "out": np.zeros(3, np.float32)}
    run_kernel(prepare(kernel), arrays)  # 99 is never used
    np.testing.assert_array_equal(arrays["out"], [*arrays["x"][[7, 0]], 0])


def test_symbolic_dimensions_become_sizes() -> None:
    n = Symbol("N")
    assert dim_index(n) == Size("N")
    assert dim_index(sub(mul(add(n, 2), 3), 1)) == build.sub(build.mul(build.add(Size("N"), 2), 3), 1)
    assert dim_index(floor_div(n, 2)) == Apply("floor_div", (Size("N"), Literal(2, INDEX)), INDEX)
    x, out = Buffer("x", FLOAT32, (n, n)), Buffer("out", FLOAT32, (n, n), access="write")
    i = Var("i")
    copy = Store(out, (i, i), Load(x, (i, i)))
    kernel = prepare(Kernel("k", (x, out), (For("i", build.index(0), Size("N"), (copy,)),)))
    arrays = {"x": noise(9), "out": np.zeros(9, np.float32)}
    run_kernel(kernel, arrays, {"N": 3})
    np.testing.assert_array_equal(arrays["out"].reshape(3, 3), np.diag(np.diag(arrays["x"].reshape(3, 3))))


def test_linear_terms_and_back() -> None:
    a, b = Var("a"), Var("b")
    expr = build.add(build.sub(build.mul(build.add(a, 3), 4), build.mul(b, 2)), 5)
    terms, constant = linear_terms(expr)
    assert terms == {a: 4, b: -2}
    assert constant == 17
    assert linear_terms(build.linear(terms, constant)) == (terms, constant)
    assert build.linear({}, 4) == build.index(4)
    assert build.linear({b: -2}, 3) == build.sub(3, build.mul(b, 2))


def test_the_interpreter_refuses_what_compiled_code_could_not_notice() -> None:
    x, out = Buffer("x", FLOAT32, (2, 3)), Buffer("out", FLOAT32, (6,), access="write")

    def run(store: Store) -> None:
        run_kernel(Kernel("k", (x, out), (store,)), {"x": noise(6), "out": np.zeros(6, np.float32)})

    with pytest.raises(IndexError, match="index 3 of a dimension of 3"):
        run(Store(out, (build.index(0),), Load(x, (build.index(0), build.index(3)))))
    with pytest.raises(IndexError, match="offsets 4…7 of 6"):
        run(Store(out, (build.index(4),), Load(x, (build.index(0),), 4)))
    with pytest.raises(PermissionError, match="x is only read"):
        run(Store(x, (build.index(0),), Load(out, (build.index(0),))))
    run(Store(replace(out), (build.index(4),), Load(x, (build.index(4),), 4, 1, build.index(2)), 1, build.index(2)))
