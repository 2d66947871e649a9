"""Every op's loop nests, run in Python, equal its reference; targets add only the translation of these nests."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from libs.rlx_compiler.tests.interpreted import NARROW, WIDE, check, compiled, noise
from rlx_base.dtypes import DTYPES, FLOAT32
from rlx_compiler.loops.ir import Apply, Cast, For, If
from rlx_compiler.loops.rewrite import expressions, statements, walk
from rlx_compiler.loops.text import show
from rlx_ir.builder import ModuleBuilder
from rlx_ir.interpreter import run
from rlx_ir.layout import Layout
from rlx_ir.module import Module
from rlx_ir.ops.activation import Relu
from rlx_ir.ops.arithmetic import Add
from rlx_ir.ops.convolution import Conv2d
from rlx_ir.ops.pooling import GlobalAveragePool, MaxPool
from rlx_ir.testing import Case, cases, covered_ops
from rlx_ir.text import parse
from rlx_ir.types import TensorType


@pytest.mark.parametrize("op", covered_ops())
def test_an_ops_nests_equal_its_reference(op: str) -> None:
    @settings(max_examples=8, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(cases(op), st.sampled_from([WIDE, NARROW]), st.sampled_from([0, 3]))
    def equal(case: Case, spec, level: int) -> None:  # type: ignore[no-untyped-def]
        check(compiled(case.module(), spec, level), case.inputs, case.expected())

    equal()


@pytest.mark.parametrize("op", ["add", "conv2d", "matmul", "softmax", "cast", "reduce_mean"])
def test_float16_is_stored_and_never_computed_in(op: str) -> None:
    @settings(max_examples=8, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(cases(op, [DTYPES["float16"]]))
    def equal(case: Case) -> None:
        found = compiled(case.module())
        check(found, case.inputs, case.expected())
        for kernel in found.program.kernels:
            for statement in statements(kernel.body):
                for expr in expressions(statement):
                    parts = [part for part in walk(expr) if isinstance(part, Apply)]
                    assert all(part.dtype != DTYPES["float16"] for part in parts)
                    assert all(not isinstance(part, Cast) or part.dtype != part.value.dtype for part in walk(expr))

    equal()


LAYOUTS = ("NCHW", "NHWC", "NCHW4c", "NCHW16c")


@pytest.mark.parametrize(("outer", "inner"), [*zip(LAYOUTS, LAYOUTS[1:] + LAYOUTS[:1], strict=True), ("NCHW4c",) * 2])
def test_a_layout_never_changes_a_result(outer: str, inner: str) -> None:
    """Blocks of 4 and 16 where there are 6 channels: what lies beyond the last one is never read as one."""
    build = ModuleBuilder("m")
    shape = (2, 6, 4, 3)

    def image(layout: str, shape: tuple[int, ...]) -> TensorType:
        return TensorType(shape, FLOAT32, Layout.parse(layout, 4))

    x = build.input("x", image(outer, shape))
    w = build.array("w", noise(6, 6, 3, 3))
    c = build.add(Conv2d(padding=(1, 1)), x, w, type=image(inner, shape))
    p = build.add(MaxPool((3, 3), padding=(1, 1)), c, type=image(outer, shape))
    r = build.add(Relu(), build.add(Add(), p, x, type=image(inner, shape)), type=image(outer, shape))
    build.output("y", r)
    build.output("mean", build.add(GlobalAveragePool(), r))
    module = build.build()
    inputs = {"x": noise(*shape)}
    for level in (0, 3):
        check(compiled(module, level=level), inputs, list(run(module, inputs).values()))


def conv(channels: int, size: int, out: int, **attributes: object) -> Module:
    build = ModuleBuilder("m")
    x = build.input("x", TensorType((1, channels, size, size), FLOAT32, Layout.parse("NHWC", 4)))
    groups = attributes.get("groups", 1)
    assert isinstance(groups, int)
    kernel = attributes.pop("kernel", 3)
    assert isinstance(kernel, int)
    w = build.array("w", noise(out, channels // groups, kernel, kernel))
    c = build.add(Conv2d(**attributes), x, w)  # type: ignore[arg-type]
    build.output("y", build.add(GlobalAveragePool(), c))
    return build.build()


def conv_text(module: Module) -> str:
    return next(show(nest) for name, nest in compiled(module).nests.items() if name.startswith("conv2d"))


def test_nothing_is_tested_inside_of_a_padded_convolution() -> None:
    """Guards are bounds of loops, and edges are code of their own: no condition is left.

    24 channels are no whole vectors, so the definition is what is computed.
    """
    for attributes in ({"groups": 24}, {}, {"strides": (2, 2)}, {"dilations": (2, 2)}):
        text = conv_text(conv(24, 12, 24, padding=(1, 1), **attributes))
        assert "select" not in text
        assert " if " not in text
        assert "fma(" in text


def test_a_pointwise_convolution_walks_one_long_row_of_pixels() -> None:
    text = conv_text(conv(16, 14, 24, kernel=1))
    assert "height_width" in text
    assert "input: f32[196, 16]" in text
    # 24 channels: a vector of 16 and one of 8, side by side in one loop over the input channels
    assert "f32x16" in text
    assert "f32x8" in text
    assert text.count("for input_channel in") == text.count("for height_width in")


def test_the_same_weights_are_loaded_once_for_all_pixels() -> None:
    text = conv_text(conv(16, 14, 32, kernel=1))
    pixel_loop = text.index("unroll pixel")
    assert text.index("weight_value[vector16] = weight[") < pixel_loop
    assert text.index("input_value = broadcast(input[") > pixel_loop


def test_a_sum_along_memory_has_partial_sums_in_its_lanes() -> None:
    module = parse("""
@rlx.module
def m():
    x = rlx.tensor(shape=[3, 100], dtype="float32")
    return rlx.reduce_sum(x, axes=[1])
""")
    found = compiled(module)
    text = show(next(iter(found.nests.values())))
    assert "fold_sum(sum)" in text
    x = noise(3, 100)
    check(found, {"x": x}, [x.sum(axis=1, keepdims=True)])


@pytest.mark.parametrize("kind", ["max", "min"])
def test_nan_wins_in_vector_reductions_too(kind: str) -> None:
    module = parse(f"""
@rlx.module
def m():
    x = rlx.tensor(shape=[2, 67], dtype="float32")
    return rlx.reduce_{kind}(x, axes=[1])
""")
    for place in (0, 40, 66):
        x = noise(2, 67)
        x[1, place] = np.nan
        expected = getattr(x, kind)(axis=1, keepdims=True)
        assert np.isnan(expected[1, 0])
        check(compiled(module), {"x": x}, [expected])


def test_concatenation_reads_each_part_without_asking_which() -> None:
    module = parse("""
@rlx.module
def m():
    a = rlx.tensor(shape=[4, 32], dtype="float32")
    b = rlx.tensor(shape=[4, 48], dtype="float32")
    return rlx.concat(a, b, axis=1)
""")
    found = compiled(module)
    assert "select" not in show(next(iter(found.nests.values())))
    a, b = noise(4, 32), noise(4, 48, seed=1)
    check(found, {"a": a, "b": b}, [np.concatenate([a, b], axis=1)])


def test_a_kernel_has_at_most_one_parallel_loop_and_it_comes_last() -> None:
    """What the emitters are promised: only `Let`s stand before it."""
    for op in ("conv2d", "matmul", "softmax", "concat", "pad"):
        case = _first(op)
        for kernel in compiled(case.module()).program.kernels:
            loops = [s for s in statements(kernel.body) if isinstance(s, For) and s.kind == "parallel"]
            assert len(loops) <= 1
            if loops:
                assert kernel.body[-1] is loops[0]
                assert not any(isinstance(s, For | If) for s in kernel.body[:-1])


def _first(op: str) -> Case:
    found: list[Case] = []

    @settings(max_examples=12, phases=[Phase.generate], derandomize=True, suppress_health_check=list(HealthCheck))
    @given(cases(op))
    def collect(case: Case) -> None:
        found.append(case)

    collect()
    return max(found, key=lambda case: sum(array.size for array in case.arrays if array is not None))


def test_a_device_without_vectors_gets_scalar_loops() -> None:
    scalar = replace(WIDE, vector_bits=0)
    module = conv(8, 5, 8, padding=(1, 1))
    found = compiled(module, scalar)
    assert "f32x" not in "".join(map(show, found.nests.values()))
    inputs = {"x": noise(1, 8, 5, 5)}
    check(found, inputs, list(run(module, inputs).values()))
