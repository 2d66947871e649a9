"""Generated modules over all ops: what the text, the digests, passes and targets have to hold for.

`modules()` draws a module with inputs, constants of every kind, layouts, affinities, schedules, symbolic dimensions,
and calls of other modules.
"""

from __future__ import annotations

import keyword
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from rlx_base.dtypes import BOOL, DTYPES, FLOAT32
from rlx_base.errors import VerifyError
from rlx_ir.affinity import COHERENCES, LOCATIONS, MemoryAffinity
from rlx_ir.builder import ModuleBuilder, infer
from rlx_ir.constants import expression as trees
from rlx_ir.constants.expression import Expression, seed_of
from rlx_ir.dims import Symbol
from rlx_ir.layout import Layout
from rlx_ir.module import Constant, Module, constant_of
from rlx_ir.op import OPS, Array, Op, make
from rlx_ir.regions import RegionOp
from rlx_ir.schedule import NO_SCHEDULE, ComputeSchedule, MemoryCoalesce, Schedule, Tile
from rlx_ir.testing.case import cases, covered_ops
from rlx_ir.tiles import tile_axes, tiled_operands
from rlx_ir.types import TensorType

__all__ = ["affinities", "modules", "schedules"]

_LAYOUTS: Final = {
    2: ("CN", "IO", "CR", "NC"),
    3: ("NWC", "WIO", "NCW"),
    4: ("NHWC", "HWIO", "NCHW4c", "OIHW2i4o", "CHWN"),
    5: ("NDHWC", "DHWIO"),
}
_COIN: Final[st.SearchStrategy[bool]] = st.booleans()
_UNARY: Final = ("relu", "neg", "identity", "abs")
_NAMES: Final = st.from_regex(r"[a-z][a-z0-9_]{0,6}", fullmatch=True).filter(
    lambda name: name not in ("rlx", "np") and not keyword.iskeyword(name)
)


@st.composite
def affinities(draw: DrawFn) -> MemoryAffinity:
    """Any memory affinity that can be declared."""
    return MemoryAffinity(
        draw(st.sampled_from(LOCATIONS)),
        draw(st.sampled_from((None, "1.2TB/s", "32GB/s", "1Gbps"))),
        draw(st.sampled_from((None, "12ns", "0.2ms"))),
        draw(st.sampled_from((None, *COHERENCES))),
    )


def layouts(rank: int) -> st.SearchStrategy[Layout | None]:
    """A layout for this rank, or none."""
    known = _LAYOUTS.get(rank, ())
    return st.sampled_from([None, *(Layout.parse(text, rank) for text in known)])


@st.composite
def schedules(draw: DrawFn, op: Op, operands: Sequence[TensorType | None], results: Sequence[TensorType]) -> Schedule:
    """A schedule that an op over these types may have."""
    if isinstance(op, RegionOp) or draw(_COIN):
        return NO_SCHEDULE
    axes = op.iteration_axes(*operands)
    some = st.lists(st.sampled_from(axes), unique=True, max_size=3).map(tuple) if axes else st.just(())
    one = st.sampled_from((None, *axes))
    compute = ComputeSchedule(
        draw(some),
        draw(one),
        tuple((dim, draw(st.integers(1, 8))) for dim in draw(some)),
        draw(some),
        draw(st.sampled_from((None, 1, 2))),
    )
    named = [
        name
        for name, type in zip(tiled_operands(op, len(operands), len(results)), (*operands, *results), strict=True)
        if type is not None
    ]
    tiles = []
    for name in named:
        if draw(_COIN):
            sizes = tuple(
                (axis, draw(st.integers(1, max(1, extent) if isinstance(extent, int) else 64)))
                for axis, extent, _ in tile_axes(op, operands, results, name)
                if draw(_COIN)
            )
            tiles.append(Tile(name, sizes))
    return Schedule(
        tuple(tiles),
        draw(st.sampled_from((None, compute))),
        draw(st.sampled_from((None, MemoryCoalesce(64), MemoryCoalesce(32, draw(one))))),
    )


@st.composite
def expressions(draw: DrawFn, module: str, name: str) -> Constant:
    """A constant given by a NumPy expression, random ones among them."""
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    tree: trees.Tree = draw(
        st.sampled_from(
            (
                trees.call("np.random.randn", {"size": shape}),
                trees.call("np.random.uniform", {"low": -1.5, "high": 2, "size": shape}),
                trees.call("np.random.randint", {"low": 0, "high": 9, "size": shape, "dtype": "int64"}),
                trees.call("np.full", {"shape": shape, "fill_value": 0.25, "dtype": None}),
                trees.call("np.linspace", {"start": 0, "stop": 1.0, "num": 5, "endpoint": False, "dtype": None}),
                trees.call("np.eye", {"N": 3, "M": None, "k": -1, "dtype": "float32"}),
            )
        )
    )
    for _ in range(draw(st.integers(0, 3))):
        match draw(st.integers(0, 4)):
            case 0:
                tree = trees.cast(tree, draw(st.sampled_from(("float32", "float64", "float16"))))
            case 1:
                tree = trees.binary(
                    draw(st.sampled_from("+-*/")), tree, trees.literal(draw(st.sampled_from((2, 0.5, -3))))
                )
            case 2:
                tree = trees.binary("-", trees.literal(1), tree)
            case 3:
                tree = trees.transposed(tree)
            case _:
                tree = trees.reshaped(trees.negated(tree), (-1, 1))
    array = trees.as_array(tree)
    seed = None
    if trees.is_random(array):
        seed = draw(st.sampled_from((seed_of(module, name), 7)))
    type = TensorType(array.static.shape, array.static.dtype, draw(layouts(len(array.static.shape))))
    return Constant(name, type, Expression(array, seed))


class _Drawn:
    """A module in the making."""

    def __init__(self, draw: DrawFn, name: str) -> None:
        self.draw = draw
        self.builder = ModuleBuilder(name)
        self.values: list[str] = []

    def name(self, stem: str) -> str:
        name = self.draw(st.one_of(st.just(stem), _NAMES))
        return self.builder.fresh(name)

    def new(self, operand: str, type: TensorType, array: Array | None = None) -> str:
        """A value of a type: one that is there, a constant, or a new input."""
        same = [name for name in self.values if _fits(self.builder.type_of(name), type)]
        again: bool = self.draw(_COIN)
        if same and again:
            return self.draw(st.sampled_from(same))
        rank = type.rank
        type = replace(type, layout=self.draw(layouts(rank)), affinity=self.draw(st.none() | affinities()))
        if array is not None and array.size <= 64 and self.draw(_COIN):
            constant = constant_of(self.name(operand), array)
            return self._known(self.builder.constant(replace(constant, type=type)))
        return self._known(self.builder.input(self.name(operand), type))

    def _known(self, name: str) -> str:
        self.values.append(name)
        return name

    def case(self) -> None:
        """An op with operands that fit it."""
        case = self.draw(st.sampled_from(covered_ops()).flatmap(cases))
        types = [_symbolic(type) if self.draw(_COIN) else type for type in case.types]
        try:
            infer(case.op, types, ())
        except VerifyError:
            types = list(case.types)
        operands = [
            None if type is None else self.new(name, type, array if type == fixed else None)
            for name, type, array, fixed in zip(case.names, types, case.arrays, case.types, strict=True)
        ]
        self.add(case.op, operands)

    def chain(self) -> None:
        """An elementwise op over what is there."""
        known = [name for name in self.values if self._is_float(name)]
        if known:
            self.add(make(OPS[self.draw(st.sampled_from(_UNARY))], {}), [self.draw(st.sampled_from(known))])

    def _is_float(self, name: str) -> bool:
        type = self.builder.type_of(name)
        return isinstance(type, TensorType) and type.dtype.is_float

    def add(self, op: Op, operands: Sequence[str | None], regions: tuple[Module, ...] = ()) -> None:
        types = [None if name is None else self.builder._tensor(name, None) for name in operands]
        results = infer(op, types, regions)
        declared = None
        if len(results) == 1 and not regions and self.draw(_COIN):
            (result,) = results
            declared = replace(
                result, layout=self.draw(layouts(result.rank)), affinity=self.draw(st.none() | affinities())
            )
            results = (declared,)
        node = self.builder.node(
            op,
            *operands,
            names=[self.name(op.name) for _ in results] if len(results) == 1 else None,
            schedule=self.draw(schedules(op, types, results)),
            regions=regions,
            type=declared,
        )
        self.values += [result.name for result in node.results]

    def call(self, module: Module) -> None:
        operands = [self.new(value.name, replace(value.tensor, layout=None, affinity=None)) for value in module.inputs]
        self.add(make(OPS["call"], {}), operands, (module,))

    def cond(self, then: Module, otherwise: Module) -> None:
        operands = [self.new(value.name, replace(value.tensor, layout=None, affinity=None)) for value in then.inputs]
        predicate = self.new("predicate", TensorType((), BOOL), np.array(True))
        self.add(make(OPS["cond"], {}), [predicate, *operands], (then, otherwise))

    def build(self) -> Module:
        if not self.values:
            self.new("x", TensorType((2, 3), FLOAT32))
        given = self.draw(st.lists(st.sampled_from(self.values), min_size=1, max_size=3))
        names: list[str]
        match self.draw(st.integers(0, 2)):
            case 0:
                given = given[:1]
                names = ["output"]
            case 1:
                names = [f"output{i}" for i in range(len(given))]
            case _:
                texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
                names = self.draw(st.lists(texts, unique=True, min_size=len(given), max_size=len(given)))
        for name, value in zip(names, given, strict=True):
            self.builder.output(name, value)
        return self.builder.build()


def _fits(type: object, wanted: TensorType) -> bool:
    return isinstance(type, TensorType) and type.shape == wanted.shape and type.dtype == wanted.dtype


def _symbolic(type: TensorType | None) -> TensorType | None:
    """The type with its first dimension unknown."""
    if type is None or not type.shape:
        return type
    return replace(type, shape=(Symbol("N"), *type.shape[1:]))


@st.composite
def modules(draw: DrawFn, name: str = "main", calls: bool = True) -> Module:
    """A module; with `calls`, one that may call others."""
    drawn = _Drawn(draw, name)
    blocks = [draw(modules(name=f"block{i}", calls=False)) for i in range(draw(st.integers(0, 2)))] if calls else []
    for _ in range(draw(st.integers(0, 2))):
        constant = drawn.name("constant")
        drawn.values.append(drawn.builder.constant(draw(expressions(name, constant))))
    for _ in range(draw(st.integers(0, 4))):
        match draw(st.integers(0, 3)):
            case 0 | 1:
                drawn.case()
            case 2:
                drawn.chain()
            case _ if blocks:
                drawn.call(draw(st.sampled_from(blocks)))
            case _:
                drawn.chain()
    if calls and draw(_COIN):
        pair = [_unary_block(kind, draw) for kind in ("relu", "neg")]
        drawn.cond(*pair)
    return drawn.build()


def _unary_block(kind: str, draw: DrawFn) -> Module:
    builder = ModuleBuilder(f"{kind}_block")
    x = builder.input("x", TensorType((2, 3), DTYPES["float32"], draw(layouts(2))))
    builder.output("output", builder.add(make(OPS[kind], {}), x))
    return builder.build()
