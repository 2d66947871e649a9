"""Whole networks, drawn at random: fusion, layouts, views, shared memory and the levels, all at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from libs.rlx_compiler.tests.interpreted import NARROW, WIDE, compiled
from rlx_base.dtypes import FLOAT32
from rlx_base.tolerance import Tolerance, mismatch
from rlx_compiler.loops.interpret import run_program
from rlx_compiler.targets.spec import TargetSpec
from rlx_ir.builder import ModuleBuilder
from rlx_ir.interpreter import run
from rlx_ir.layout import Layout
from rlx_ir.module import Module
from rlx_ir.op import Op
from rlx_ir.ops.activation import Clip, Relu
from rlx_ir.ops.arithmetic import Add, Mul, Sub
from rlx_ir.ops.convolution import Conv2d
from rlx_ir.ops.normalization import BatchNorm
from rlx_ir.ops.padding import Pad
from rlx_ir.ops.permutation import Concat, Slice, Transpose
from rlx_ir.ops.pooling import AveragePool, GlobalAveragePool, MaxPool
from rlx_ir.ops.reduction import ReduceMean
from rlx_ir.ops.reshape import Reshape
from rlx_ir.ops.softmax import Softmax
from rlx_ir.types import TensorType

Draw = Callable[[st.SearchStrategy], object]  # type: ignore[type-arg]


class _Network:
    """Adds layers at random; every image in it has the same batch and size, so that any two can meet."""

    def __init__(self, draw: Draw) -> None:
        self.draw, self.build = draw, ModuleBuilder("net")
        self.random = np.random.default_rng(self.number(0, 99))
        self.size = (self.number(1, 5), self.number(1, 5))
        shape = (self.number(1, 2), self.number(1, 9), *self.size)
        layout = Layout.parse("NHWC", 4) if self.number(0, 1) else None
        self.images = [self.build.input("x", TensorType(shape, FLOAT32, layout))]
        self.others: list[str] = []

    def number(self, low: int, high: int) -> int:
        found = self.draw(st.integers(low, high))
        assert isinstance(found, int)
        return found

    def image(self) -> str:
        return self.images[self.number(0, len(self.images) - 1)]

    def channels(self, name: str) -> int:
        return self.type(name).shape[1]  # type: ignore[return-value]

    def type(self, name: str) -> TensorType:
        type = self.build.type_of(name)
        assert isinstance(type, TensorType)
        return type

    def weight(self, *shape: int) -> str:
        elements = self.random.standard_normal(shape).astype(np.float32)
        return self.build.array(self.build.fresh("w"), elements)

    def add(self, op: Op, *operands: str | None) -> None:
        name = self.build.add(op, *operands)
        type = self.type(name)
        (self.images if type.rank == 4 and type.shape[2:] == self.size else self.others).append(name)

    def layer(self) -> None:
        x = self.image()
        channels = self.channels(x)
        match self.number(0, 13):
            case 0:
                out = self.number(1, 9)
                bias = self.weight(out) if self.number(0, 1) else None
                self.add(Conv2d(), x, self.weight(out, channels, 1, 1), bias)
            case 1:
                self.add(Conv2d(padding=(1, 1)), x, self.weight(self.number(1, 9), channels, 3, 3), None)
            case 2:
                self.add(Conv2d(padding=(1, 1), groups=channels), x, self.weight(channels, 1, 3, 3), None)
            case 3:
                self.add(BatchNorm(1e-3), x, self.weight(channels), self.weight(channels), None, None)
            case 4:
                self.add(Relu(), x)
            case 5:
                self.add(Clip(-0.5, 0.75), x)
            case 6 | 7:
                same = [y for y in self.images if self.channels(y) == channels]
                y = same[self.number(0, len(same) - 1)]
                self.add((Add(), Mul(), Sub())[self.number(0, 2)], x, y)
            case 8:
                self.add(Concat(1), x, self.image())
            case 9:
                pool = MaxPool if self.number(0, 1) else AveragePool
                self.add(pool((3, 3), padding=(1, 1)), x)
            case 10:  # squeeze and excite
                gate = self.build.add(GlobalAveragePool(), x)
                gate = self.build.add(Conv2d(), gate, self.weight(channels, channels, 1, 1), None)
                self.add(Mul(), x, gate)
            case 11:
                padded = self.build.add(Pad((0, 0, 1, 0, 0, 0, 0, 2), value=0.5), x)
                height, width = self.size
                self.add(Slice((1, 0), (height + 1, width), (2, 3)), padded)
            case 12:
                self.add(Softmax(1), x)
            case _:
                flat = self.build.add(Reshape((self.type(x).shape[0], -1)), x)  # type: ignore[arg-type]
                turned = self.build.add(Transpose((1, 0)), flat)
                self.add(ReduceMean(axes=(0,)), turned)

    def module(self) -> Module:
        for _ in range(self.number(1, 9)):
            self.layer()
        values = [*self.images[-self.number(1, 3) :], *self.others[-1:]]
        for place, value in enumerate(values):
            self.build.output(f"y{place}", value)
        return self.build.build()


@st.composite
def networks(draw: Draw) -> Module:
    module = _Network(draw).module()
    layouts = [None, "NHWC", "NCHW4c"]

    def stored(type: TensorType) -> TensorType:
        layout = draw(st.sampled_from(layouts)) if type.rank == 4 else None
        return type if layout is None else replace(type, layout=Layout.parse(str(layout), 4))

    return module.map_nodes(
        lambda node: replace(node, results=tuple(replace(r, type=stored(r.tensor)) for r in node.results))
    )


@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(networks(), st.sampled_from([WIDE, NARROW]), st.sampled_from([0, 2, 3]))
def test_a_network_computes_what_its_text_says(module: Module, spec: TargetSpec, level: int) -> None:
    shape = [size for size in module.inputs[0].tensor.shape if isinstance(size, int)]
    inputs = {"x": np.random.default_rng(1).standard_normal(shape).astype(np.float32)}
    expected = run(module, inputs)
    found = run_program(compiled(module, spec, level).program, inputs)
    for name, array in expected.items():
        difference = mismatch(found[name], array, Tolerance(1e-4, 1e-5))
        assert difference is None, f"{name}: {difference}"
