"""Grids as loop IR, run in Python: tiles that do not divide, halos in shared memory, sums that threads share."""

from __future__ import annotations

import numpy as np
import pytest

from libs.rlx_compiler.tests.interpreted import check, compiled, noise
from rlx_compiler.loops.ir import Barrier, For, If
from rlx_compiler.loops.rewrite import statements
from rlx_compiler.loops.text import show
from rlx_compiler.targets.grid_device import grid_spec
from rlx_ir.module import Module
from rlx_ir.text import parse

SMALL = grid_spec("opencl", "generic", threads=64, shared_bytes=4 << 10)


def module(inputs: str, result: str) -> Module:
    return parse(f"@rlx.module\ndef net():\n{inputs}\n    return {result}\n")


def tensor(name: str, *shape: int) -> str:
    return f'    {name} = rlx.tensor(shape={list(shape)}, dtype="float32")\n'


@pytest.mark.parametrize("sides", [(1, 1, 1), (7, 5, 3), (17, 34, 9)])
@pytest.mark.parametrize("tile", ["", ', tile_layout={"output": {"row": 8, "column": 16}}'])
def test_products_of_any_size_are_right(sides: tuple[int, int, int], tile: str) -> None:
    rows, columns, terms = sides
    if tile and (rows < 8 or columns < 16):
        pytest.skip("the tile is larger than the product")
    net = module(tensor("a", rows, terms) + tensor("b", terms, columns), f"rlx.matmul(a, b{tile})")
    a, b = noise(rows, terms), noise(terms, columns, seed=1)
    check(compiled(net, SMALL), {"a": a, "b": b}, [a @ b])


def test_operands_of_a_product_come_through_shared_memory() -> None:
    net = module(tensor("a", 64, 32) + tensor("b", 32, 64), "rlx.matmul(a, b)")
    (nest,) = compiled(net, SMALL).nests.values()
    text = show(nest)
    assert "shared a_tile" in text
    assert "shared b_tile" in text
    assert nest.grid is not None
    assert nest.grid.shared_bytes <= 4 << 10
    assert nest.grid.threads <= 64


def test_a_convolution_s_halo_is_staged_and_its_padding_tested_there_alone() -> None:
    inputs = tensor("x", 1, 2, 6, 7) + tensor("w", 3, 2, 3, 3)
    net = module(inputs, "rlx.conv2d(x, w, padding=[1, 1, 1, 1])")
    found = compiled(net, SMALL)
    (nest,) = found.nests.values()
    assert "shared input_tile" in show(nest)
    x, w = noise(1, 2, 6, 7), noise(3, 2, 3, 3, seed=1)
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    check(found, {"x": x, "w": w}, [np.einsum("nchwij,ocij->nohw", windows, w)])


@pytest.mark.parametrize(("shape", "axis"), [((3, 200), 1), ((200, 3), 0), ((1000,), 0), ((2, 70, 5), 1)])
def test_a_sum_of_few_results_is_shared_by_threads(shape: tuple[int, ...], axis: int) -> None:
    net = module(tensor("x", *shape), f"rlx.reduce_sum(x, axes=[{axis}], keepdims=False)")
    found = compiled(net, SMALL)
    (nest,) = found.nests.values()
    assert any(isinstance(statement, Barrier) for statement in statements(nest.body))
    x = noise(*shape)
    check(found, {"x": x}, [x.sum(axis=axis)])


def test_a_barrier_stands_only_where_all_threads_come() -> None:
    net = module(tensor("a", 33, 40) + tensor("b", 40, 65), "rlx.matmul(a, b)")
    (nest,) = compiled(net, SMALL).nests.values()
    for statement in statements(nest.body):
        if isinstance(statement, If):
            assert not any(isinstance(inner, Barrier) for inner in statements((*statement.then, *statement.otherwise)))


def test_neighbouring_threads_have_neighbouring_elements_along_the_dimension_asked_for() -> None:
    asked = ', compute_schedule={"vectorize_dim": "row"}, memory_coalesce={"width": 64}'
    net = module(tensor("a", 64, 4) + tensor("b", 4, 16), f"rlx.matmul(a, b{asked})")
    found = compiled(net, SMALL)
    (kernel,) = found.report["kernels"]
    assert kernel["schedule"]["threads"]["row"] == 16
    assert "neighbouring threads along row: asked for" in kernel["reasons"]
    a, b = noise(64, 4), noise(4, 16, seed=1)
    check(found, {"a": a, "b": b}, [a @ b])


def test_blocks_divide_the_dimensions_asked_for_and_no_others() -> None:
    asked = ', compute_schedule={"parallel_dims": ["row"]}'
    net = module(tensor("a", 64, 4) + tensor("b", 4, 32), f"rlx.matmul(a, b{asked})")
    found = compiled(net, SMALL)
    (nest,) = found.nests.values()
    assert nest.grid is not None
    (kernel,) = found.report["kernels"]
    assert kernel["schedule"]["blocks"]["column"] == 32
    assert nest.grid.blocks == -(-64 // kernel["schedule"]["blocks"]["row"])
    a, b = noise(64, 4), noise(4, 32, seed=1)
    check(found, {"a": a, "b": b}, [a @ b])


def test_loops_and_addresses_of_a_grid_are_short() -> None:
    net = module(tensor("x", 40, 50), "rlx.transpose(x)")
    (kernel,) = compiled(net, SMALL).program.kernels
    loops = [statement for statement in statements(kernel.body) if isinstance(statement, For)]
    assert {loop.stop.dtype.name for loop in loops} == {"int32"}
