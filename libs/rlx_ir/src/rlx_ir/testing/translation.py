"""Translation validation: a module and what a pass made of it, run side by side by the interpreter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from rlx_base.dtypes import DTYPES, FLOAT32
from rlx_base.errors import VerifyError
from rlx_base.tolerance import Tolerance, mismatch
from rlx_ir.builder import ModuleBuilder
from rlx_ir.dims import symbols
from rlx_ir.interpreter import run
from rlx_ir.module import Module
from rlx_ir.op import OPS, Array, make
from rlx_ir.passes import Pass, apply_passes
from rlx_ir.testing.reductions import axes_of
from rlx_ir.testing.tensors import array, broadcastable, shapes, sizes
from rlx_ir.text import print_module
from rlx_ir.types import TensorType
from rlx_ir.verify import verify

__all__ = ["chains", "check_translation", "convolutions", "inputs_for"]


@st.composite
def inputs_for(draw: DrawFn, module: Module) -> dict[str, Array]:
    """Arrays for a module's inputs; symbolic dimensions get some sizes."""
    names = sorted({name for value in module.inputs for dim in value.tensor.shape for name in symbols(dim)})
    dims = {name: draw(sizes(5, least=1)) for name in names}
    arrays = {}
    for value in module.inputs:
        shape = [size for size in value.tensor.bind(dims).shape if isinstance(size, int)]
        arrays[value.name] = array(draw, shape, value.tensor.dtype, special=True)
    return arrays


def check_translation(
    module: Module, inputs: Mapping[str, Array], *passes: Pass, tolerance: Tolerance | None = None
) -> Module:
    """That a module still verifies after each pass and gives the same outputs: to the bit, or within a tolerance."""
    try:
        expected = run(module, inputs)
    except VerifyError:  # symbolic dimensions that, once known, do not fit: nothing to compare
        assume(False)
    after = apply_passes(module, passes, lambda _, made: verify(made))
    actual = run(after, inputs)
    assert list(actual) == list(expected)
    for name, want in expected.items():
        wrong = mismatch(actual[name], want, tolerance) if tolerance else _difference(actual[name], want)
        assert wrong is None, f"{name}: {wrong}\n{print_module(module)}\nbecame\n{print_module(after)}"
    return after


def _difference(actual: Array, expected: Array) -> str | None:
    """How two arrays differ in any bit, except which NaN a NaN is."""
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return f"{actual.dtype}{list(actual.shape)} instead of {expected.dtype}{list(expected.shape)}"
    same = actual == expected
    if expected.dtype.kind == "f":
        same = (same & (np.signbit(actual) == np.signbit(expected))) | (np.isnan(actual) & np.isnan(expected))
    return None if np.all(same) else f"{actual} instead of {expected}"


@st.composite
def chains(draw: DrawFn) -> Module:
    """A chain of ops many of which change nothing, or take back what another did: what Simplify has to see through."""
    builder = ModuleBuilder("chain")
    dtype = draw(st.sampled_from([FLOAT32, DTYPES["int32"]]))
    value = builder.input("x", TensorType(draw(shapes(most=4)), dtype))
    for _ in range(draw(st.integers(1, 6))):
        value = _link(draw, builder, value)
    builder.output("output", value)
    return builder.build()


def _link(draw: DrawFn, builder: ModuleBuilder, value: str) -> str:
    type = builder.type_of(value)
    assert isinstance(type, TensorType)
    dtype, rank = type.dtype, type.rank
    shape = tuple(size for size in type.shape if isinstance(size, int))

    def add(name: str, *operands: str, **attributes: Any) -> str:
        return builder.add(make(OPS[name], attributes), *operands)

    kind = draw(st.sampled_from(["number", "same", "move", "reshape", "unary"]))
    if kind == "number":
        number = draw(st.sampled_from([0.0, -0.0, 1.0, 2.0]))
        constant = builder.array(builder.fresh("c"), np.full(broadcastable(draw, shape), number).astype(str(dtype)))
        op = draw(st.sampled_from(["add", "sub", "mul", "div"] + (["pow"] if dtype.is_float else [])))
        return add(op, value, constant) if draw(st.booleans()) else add(op, constant, value)
    if kind == "unary":
        floats = ["floor", "ceil", "round"] if dtype.is_float else ["bitwise_not"]
        return add(draw(st.sampled_from(["neg", "abs", "relu", *floats])), value)
    if kind == "same":
        op = draw(st.sampled_from(["identity", "min", "max", "clip", "cast", "expand"]))
        if op == "cast":
            return add(op, value, to=str(dtype))
        return add(op, value, shape=list(shape)) if op == "expand" else add(op, value)
    if kind == "move" and rank:
        match draw(st.integers(0, 3)):
            case 0:
                return add("transpose", value, perm=draw(st.permutations(range(rank))))
            case 1:
                axes = axes_of(draw, rank)
                ends = [draw(st.sampled_from([None, 1, 2**40])) for _ in axes]
                steps = [draw(st.sampled_from([1, -1])) for _ in axes]
                return add("slice", value, starts=[None for _ in axes], ends=ends, axes=axes, steps=steps)
            case 2:
                return add("pad", value, pads=[draw(st.integers(0, 1)) for _ in range(2 * rank)])
            case _:
                return add("concat", value, axis=draw(st.integers(0, rank - 1)))
    match draw(st.integers(0, 3)):
        case 0 if 0 not in shape:
            return add("reshape", value, shape=draw(st.sampled_from([[-1], [1, -1], list(shape), [*shape, 1]])))
        case 1:
            return add("flatten", value, axis=draw(st.integers(0, rank)))
        case 2:
            return add("squeeze", value)
        case _ if rank < 5:
            return add("unsqueeze", value, axes=[draw(st.integers(0, rank))])
        case _:
            return value


@st.composite
def convolutions(draw: DrawFn) -> Module:
    """A convolution followed by what folds into it, or nearly does."""
    builder = ModuleBuilder("convolution")
    random = np.random.RandomState(draw(st.integers(0, 2**32 - 1)))
    groups, inner, outer = draw(st.sampled_from([1, 2])), draw(st.integers(1, 3)), draw(st.integers(1, 3))

    def constant(name: str, *shape: int, low: float = -1.0) -> str:
        return builder.array(name, random.uniform(low, low + 2.0, shape).astype(np.float32))

    x = builder.input("x", TensorType((draw(st.integers(1, 2)), groups * inner, 5, 4), FLOAT32))
    channels = groups * outer
    weight = constant("w", channels, inner, 3, 3)
    bias = constant("b", channels) if draw(st.booleans()) else None
    conv = builder.add(make(OPS["conv2d"], {"groups": groups, "padding": [1, 1]}), x, weight, bias)
    value = conv
    for number in range(draw(st.integers(1, 2))):
        if draw(st.booleans()):
            statistics = [
                constant(f"{name}{number}", channels, low=0.5) if draw(st.booleans()) else None
                for name in ("scale", "bias", "mean", "var")
            ]
            value = builder.add(make(OPS["batch_norm"], {"eps": 1e-3}), value, *statistics)
        else:
            shape = draw(st.sampled_from([(channels, 1, 1), (1, channels, 1, 1), (1,), (5, 1), (1, 1, 5, 4)]))
            operands = [value, constant(f"addend{number}", *shape)]
            value = builder.add(make(OPS["add"], {}), *(operands if draw(st.booleans()) else operands[::-1]))
    builder.output("output", value)
    if draw(st.booleans()):
        builder.output("convolution", conv)
    return builder.build()
