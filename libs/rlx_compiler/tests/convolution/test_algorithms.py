"""Every algorithm for convolutions computes what the definition says, on machine code and on Python's loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from libs.rlx_compiler.tests.interpreted import NARROW, WIDE, compiled
from libs.rlx_compiler.tests.native import load
from rlx_base.dtypes import FLOAT32
from rlx_base.tolerance import Tolerance, mismatch
from rlx_compiler.convolution import choose
from rlx_compiler.loops.interpret import run_program
from rlx_compiler.options import CompileOptions
from rlx_compiler.pipeline import Compiled, lower
from rlx_compiler.targets import resolve
from rlx_ir.builder import ModuleBuilder
from rlx_ir.interpreter import run
from rlx_ir.module import Module
from rlx_ir.ops.activation import Relu
from rlx_ir.ops.arithmetic import Add
from rlx_ir.ops.convolution import Conv2d
from rlx_ir.types import TensorType

Array = NDArray[Any]
# Of the largest result: what Winograd's algorithm may round in 256 terms.
ROUNDING = Tolerance(3e-5, 3e-5)
NAMES = ("bordered", "winograd4", "winograd2")
Forced = Callable[[str], None]


@pytest.fixture
def forced(monkeypatch: pytest.MonkeyPatch) -> Forced:
    """Makes one algorithm be taken wherever it fits."""
    known = dict(zip(NAMES, choose.ALGORITHMS, strict=True))

    def force(name: str) -> None:
        monkeypatch.setattr("rlx_compiler.lowering.module.alternative", _only(known[name]))

    return force


def _only(algorithm: choose.Algorithm) -> Callable[..., Any]:
    def alternative(defined: Any, layouts: Any, params: Any, constants: Any, spec: Any) -> Any:
        return choose.alternative(defined, layouts, params, constants, spec, (algorithm,), 0.0)

    return alternative


def network(
    size: tuple[int, int],
    channels: tuple[int, int],
    op: Conv2d,
    *,
    kernel: tuple[int, int] = (3, 3),
    batch: int = 1,
    residual: bool = False,
    seed: int = 0,
) -> Module:
    """A convolution between others, since arrays of the interface are not stored with their channels last."""
    build, random = ModuleBuilder("net"), np.random.default_rng(seed)
    x = build.input("x", TensorType((batch, channels[0], *size), FLOAT32))
    first = build.add(Relu(), build.add(Conv2d(), x, build.array("eye", _one_by_one(channels[0])), None))
    weight = random.standard_normal((channels[1], channels[0], *kernel)).astype(np.float32) / channels[0] ** 0.5
    bias = random.standard_normal(channels[1]).astype(np.float32)
    y = build.add(op, first, build.array("w", weight), build.array("b", bias))
    if residual:
        y = build.add(Relu(), build.add(Add(), y, y_like(build, first, channels)))
    build.output("y", build.add(Conv2d(), y, build.array("last", _one_by_one(channels[1])), None))
    return build.build()


def y_like(build: ModuleBuilder, value: str, channels: tuple[int, int]) -> str:
    """Another image of the result's channels, to be added to it."""
    weight = np.random.default_rng(1).standard_normal((channels[1], channels[0], 1, 1)).astype(np.float32)
    return build.add(Conv2d(), value, build.array("side", weight), None)


def _one_by_one(channels: int) -> Array:
    return np.eye(channels, dtype=np.float32).reshape(channels, channels, 1, 1)


def image(module: Module, seed: int = 0) -> Array:
    shape = [size for size in module.inputs[0].tensor.shape if isinstance(size, int)]
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def algorithms_of(found: Compiled) -> set[str]:
    """Which algorithms the kernels' reasons name."""
    reasons = " ".join(reason for kernel in found.report["kernels"] for reason in kernel["reasons"])
    return {name for name, word in zip(NAMES, ("copy of the image", "F(4x4", "F(2x2"), strict=True) if word in reasons}


@st.composite
def cases(draw: st.DrawFn) -> Module:
    size = (draw(st.integers(2, 9)), draw(st.integers(2, 9)))
    channels = (4 * draw(st.integers(1, 2)), 4 * draw(st.integers(1, 3)))
    padding = tuple(draw(st.lists(st.integers(1, 2), min_size=4, max_size=4)))
    return network(size, channels, Conv2d(padding=padding), batch=draw(st.integers(1, 2)), seed=draw(st.integers(0, 9)))


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=4, suppress_health_check=list(HealthCheck))
@given(module=cases())
def test_an_algorithm_computes_the_convolution(forced: Forced, name: str, module: Module) -> None:
    forced(name)
    found = compiled(module, NARROW)
    assert algorithms_of(found) == {name}
    x = image(module)
    difference = mismatch(run_program(found.program, {"x": x})["y"], run(module, {"x": x})["y"], ROUNDING)
    assert difference is None, difference


@pytest.mark.parametrize(
    ("name", "target", "size", "channels"),
    [
        ("bordered", "llvm", (7, 7), (16, 32)),
        ("bordered", "c", (7, 9), (16, 32)),
        ("winograd2", "llvm", (15, 14), (16, 32)),
        ("winograd2", "c", (7, 9), (16, 16)),
        ("winograd4", "llvm", (14, 17), (16, 32)),
        ("winograd4", "c", (9, 8), (16, 16)),
        ("winograd4", "llvm", (56, 56), (64, 64)),  # in blocks of tiles
    ],
    ids=str,
)
def test_machine_code_does_too(
    forced: Forced, name: str, target: str, size: tuple[int, int], channels: tuple[int, int]
) -> None:
    """With a residual, sizes that tiles do not divide, several blocks, and two members of a team."""
    forced(name)
    module = network(size, channels, Conv2d(padding=(1, 1)), residual=True)
    options = CompileOptions(target)
    found = lower(module, resolve(options).spec, options)
    assert name in algorithms_of(found)
    x = image(module)
    expected = run(module, {"x": x})["y"]
    native = load(found.program, target, "host", opt_level=1)
    for threads in (1, 2):
        difference = mismatch(native.run(x, threads=threads)[0], expected, ROUNDING)
        assert difference is None, f"{threads} threads: {difference}"


@pytest.mark.parametrize(
    ("op", "kernel"),
    [
        (Conv2d(strides=(2, 2), padding=(1, 1)), (3, 3)),
        (Conv2d(padding=(2, 4), dilations=(1, 2)), (5, 5)),
        (Conv2d(strides=(1, 3), padding=(0, 1)), (2, 3)),
        (Conv2d(padding=(2, 0, 0, 1)), (3, 2)),
    ],
    ids=str,
)
def test_a_bordered_copy_serves_any_window(forced: Forced, op: Conv2d, kernel: tuple[int, int]) -> None:
    forced("bordered")
    module = network((9, 12), (4, 8), op, kernel=kernel)
    found = compiled(module, NARROW)
    assert algorithms_of(found) == {"bordered"}
    x = image(module)
    difference = mismatch(run_program(found.program, {"x": x})["y"], run(module, {"x": x})["y"], ROUNDING)
    assert difference is None, difference


def test_infinite_weights_are_left_to_the_definition(forced: Forced) -> None:
    """Algorithms multiply the zeros around the image; the definition skips them, so ∞ beside the image adds nothing."""
    forced("bordered")
    build = ModuleBuilder("net")
    x = build.input("x", TensorType((1, 4, 3, 3), FLOAT32))
    first = build.add(Relu(), build.add(Conv2d(), x, build.array("eye", _one_by_one(4)), None))
    weight = np.ones((4, 4, 3, 3), np.float32)
    weight[:, :, 0, :] = np.inf
    build.output("y", build.add(Conv2d(padding=(1, 1)), first, build.array("w", weight), None))
    module = build.build()
    values = np.abs(image(module)) + 1
    for level in range(4):
        found = compiled(module, NARROW, level)
        assert algorithms_of(found) == set()
        y = run_program(found.program, {"x": values})["y"]
        assert np.isfinite(y[:, :, 0]).all(), "the row above the first one is padding"
        assert np.isposinf(y[:, :, 1:]).all()
    np.testing.assert_array_equal(np.isinf(run(module, {"x": values})["y"]), np.isinf(y))


def test_values_that_are_not_finite_stay_where_they_are_seen(forced: Forced) -> None:
    """Winograd's sums cancel, and ∞ does not: it spreads over the tiles that see it, and no further."""
    module = network((16, 16), (4, 4), Conv2d(padding=(1, 1)))
    x = np.abs(image(module)) + 1
    x[0, 0, 2, 2] = np.inf
    for name, reach in (("bordered", 1), ("winograd2", 4), ("winograd4", 6)):
        forced(name)
        y = run_program(compiled(module, NARROW).program, {"x": x})["y"]
        wrong = np.argwhere(~np.isfinite(y[0]).all(axis=0))
        assert len(wrong)
        assert np.abs(wrong - 2).max() <= reach


def report(size: int, inputs: int, outputs: int, **attributes: Any) -> Compiled:
    return compiled(network((size, size), (inputs, outputs), Conv2d(padding=(1, 1), **attributes)), WIDE)


def test_large_images_are_done_in_large_tiles_and_deep_layers_in_small_ones() -> None:
    assert algorithms_of(report(56, 64, 64)) >= {"winograd4"}
    assert algorithms_of(report(14, 256, 256)) >= {"winograd2"}
    assert algorithms_of(report(7, 512, 512)) == {"bordered"}


def test_the_report_tells_what_was_weighed() -> None:
    reasons = [reason for kernel in report(56, 64, 64).report["kernels"] for reason in kernel["reasons"]]
    weighed = [reason for reason in reasons if reason.startswith("thousands of cycles expected: direct ")]
    assert any("winograd4" in reason for reason in weighed)
    assert any("28.9 M products instead of 115.6 M" in reason for reason in reasons)
