"""A schedule changes the loops and never the result, whatever it asks for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from libs.rlx_compiler.tests.interpreted import NARROW, WIDE, check, compiled
from libs.rlx_compiler.tests.native import load
from rlx_base.tolerance import Tolerance, mismatch
from rlx_compiler.loops.text import show
from rlx_compiler.pipeline import Compiled
from rlx_ir.interpreter import run
from rlx_ir.layout import Layout
from rlx_ir.module import Module
from rlx_ir.schedule import ComputeSchedule, MemoryCoalesce, Schedule, Tile
from rlx_ir.testing import Case, cases
from rlx_ir.text import parse
from rlx_ir.tiles import tile_axes
from rlx_ir.types import TensorType
from rlx_ir.verify import verify

GOLDEN = Path(__file__).parent / "golden"
_LAYOUTS = ("NHWC", "NCHW4c", "NCHW16c", "NHWC8c")

Draw = Callable[[st.SearchStrategy[Any]], Any]


def stored(draw: Draw, type: TensorType | None) -> TensorType | None:
    """The type in some layout, where it is an image."""
    if type is None or type.rank != 4 or not draw(st.booleans()):
        return type
    return replace(type, layout=Layout.parse(draw(st.sampled_from(_LAYOUTS)), 4))


@st.composite
def scheduled(draw: Draw, op: str) -> tuple[Case, Module]:
    """A case of an op and a module of it with layouts and a schedule that the verifier accepts."""
    case: Case = draw(cases(op))
    module = case.module()
    (node,) = module.nodes
    types = {name: stored(draw, type) for name, type in zip(case.names, case.types, strict=True)}
    operands = list(types.values())
    results = [stored(draw, result.tensor) for result in node.results]
    axes = list(node.op.iteration_axes(*case.types))
    some_axes = st.lists(st.sampled_from(axes), unique=True) if axes else st.just([])
    axis = st.sampled_from([None, *axes])

    def tile(name: str) -> Tile:
        known = tile_axes(node.op, operands, [r for r in results if r is not None], name)
        sizes = [(a, draw(st.integers(1, e))) for a, e, _ in known if isinstance(e, int) and e and draw(st.booleans())]
        return Tile(name, tuple(sizes))

    names = [name for name, type in types.items() if type is not None] + [node.op.results[0]]
    tiles = tuple(tile(name) for name in names if draw(st.booleans()))
    unroll = tuple((name, draw(st.integers(1, 5))) for name in draw(some_axes))
    compute = ComputeSchedule(tuple(draw(some_axes)), draw(axis), unroll, tuple(draw(some_axes)))
    coalesce = MemoryCoalesce(draw(st.sampled_from([4, 16, 32, 64])), draw(axis)) if draw(st.booleans()) else None
    schedule = Schedule(tiles, compute if draw(st.booleans()) else None, coalesce)
    values = tuple(replace(r, type=t) for r, t in zip(node.results, results, strict=True))
    inputs = tuple(replace(value, type=types[value.name]) for value in module.inputs)
    return case, replace(module, inputs=inputs, nodes=(replace(node, results=values, schedule=schedule),))


OPS = ("add", "average_pool", "concat", "conv2d", "gemm", "layer_norm", "matmul", "max_pool", "pad", "reduce_sum")


@pytest.mark.parametrize("op", [*OPS, "resize", "softmax", "top_k", "transpose"])
def test_any_legal_schedule_and_layout_give_the_same_result(op: str) -> None:
    @settings(max_examples=15, suppress_health_check=list(HealthCheck))
    @given(scheduled(op), st.sampled_from([WIDE, NARROW]), st.sampled_from([0, 2, 3]))
    def equal(one: tuple[Case, Module], spec: Any, level: int) -> None:
        case, module = one
        verify(module)
        check(compiled(module, spec, level), case.inputs, case.expected())

    equal()


@pytest.mark.parametrize("layout", [None, "NHWC", "NCHW4c"])
def test_groups_without_an_output_channel_have_a_loop_that_never_runs(layout: str | None) -> None:
    stored = f', layout="{layout}"' if layout else ""
    module = parse(
        "@rlx.module\ndef none():\n"
        f'    x = rlx.tensor(shape=[1, 6, 4, 4], dtype="float32"{stored})\n'
        '    w = rlx.tensor(shape=[0, 2, 1, 2], dtype="float32")\n'
        "    return rlx.conv2d(x, w, groups=3)\n"
    )
    arrays = np.ones((1, 6, 4, 4), np.float32), np.ones((0, 2, 1, 2), np.float32)
    (result,) = load(compiled(module).program).run(*arrays)
    assert result.shape == (1, 0, 4, 3)


# --- the stem of ResNet-18, small enough for Python, with the schedule of the language's own example

STEM = """
@rlx.module
def stem():
    input = rlx.tensor(shape=[1, 3, 20, 22], dtype="float32", layout="NHWC")
    weight = rlx.constant(value=np.random.randn(64, 3, 7, 7).astype(np.float32), layout="HWIO")
    conv_out = rlx.conv2d(input=input, weight=weight, strides=[2, 2], padding=[3, 3]{schedule})
    bn_out = rlx.batch_norm(conv_out, eps=1e-5)
    relu_out = rlx.relu(bn_out)
    return relu_out
"""

AS_WRITTEN = """
        tile_layout={"input": [1, 3, 16, 16], "weight": [7, 7, 3, 16], "output": [1, 64, 8, 8]},
        compute_schedule={"parallel_dims": ["batch", "output_channel"], "vectorize_dim": "width"},
        memory_coalesce={"width": 64}"""
BY_CHANNEL = """
        tile_layout={"output": {"C": 32, "H": 4, "W": 4}, "weight": {"I": 1}},
        compute_schedule={"parallel_dims": ["height"], "vectorize_dim": "output_channel", "unroll": {"width": 2}},
        memory_coalesce={"width": 32}"""


def stem(schedule: str) -> tuple[Module, Compiled]:
    module = parse(STEM.replace("{schedule}", schedule and f", {schedule}"))
    return module, compiled(module)


@pytest.mark.parametrize(("name", "schedule"), [("as_written", AS_WRITTEN), ("by_channel", BY_CHANNEL), ("chosen", "")])
def test_the_stems_loops_follow_its_schedule(name: str, schedule: str) -> None:
    _, found = stem(schedule)
    text = "\n".join(show(nest) for nest in found.nests.values())
    assert text == (GOLDEN / f"stem_{name}.txt").read_text()


def test_the_stems_result_does_not_follow_its_schedule() -> None:
    image = np.random.default_rng(3).standard_normal((1, 3, 20, 22)).astype(np.float32)
    for schedule in (AS_WRITTEN, BY_CHANNEL, ""):
        module, found = stem(schedule)
        (expected,) = run(module, {"input": image}).values()
        (actual,) = load(found.program).run(image)
        assert mismatch(actual, expected, Tolerance(1e-5, 1e-6)) is None


def test_what_was_asked_and_what_was_chosen_are_both_in_the_report() -> None:
    kernel = stem(BY_CHANNEL)[1].report["kernels"][0]
    assert kernel["asked"] == {
        "output_tile": {"output_channel": 32, "height": 4, "width": 4},
        "staging_tile": {"input_channel": 1},
        "parallel_dims": ["height"],
        "vectorize_dim": "output_channel",
        "unroll": {"width": 2},
        "coalesce_bytes": 32,
    }
    chosen = kernel["schedule"]
    assert (chosen["vectorize_dim"], chosen["lanes"], chosen["unrolled_dim"]) == ("output_channel", 8, "width")
    assert chosen["loops"][0] == "height by 4 parallel"
    assert "vectors of 8 lanes: memory_coalesce.width=32" in kernel["reasons"]
    assert stem("")[1].report["kernels"][0]["asked"] == {}


def test_an_unhelpful_schedule_is_honoured() -> None:
    """Vectors along a dimension whose neighbours lie apart in memory are slow, and are what was asked for."""
    _, found = stem('compute_schedule={"vectorize_dim": "height", "order": ["width", "output_channel", "height"]}')
    schedule = found.report["kernels"][0]["schedule"]
    assert schedule["vectorize_dim"] == "height"
    order = [loop.split(" by ")[0] for loop in schedule["loops"]]
    assert order.index("width") < order.index("output_channel") < order.index("height")
    text = show(next(iter(found.nests.values())))
    assert " by 704]" in text  # 11 pixels of 64 channels from one row to the next
