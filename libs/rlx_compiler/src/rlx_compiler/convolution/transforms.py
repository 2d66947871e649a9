"""The two ends of Winograd's algorithm as loops: image → tiles (Bᵀ d B), products → results (Aᵀ m A) with epilogue.

Tiles are numbered row by row through all images; `tiles[e, t, i]` and `products[e, t, o]` hold place e of tile t.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rlx_base.dtypes import BOOL, FLOAT32
from rlx_compiler.convolution.problem import Convolution
from rlx_compiler.convolution.tiles import Tiles, transformed
from rlx_compiler.loops import build
from rlx_compiler.loops.ir import Apply, Broadcast, Buffer, Expr, For, If, Let, Literal, Load, Select, Stmt, Store, Var
from rlx_compiler.lowering.indices import Scope
from rlx_compiler.lowering.storage import Stage
from rlx_compiler.lowering.values import LANE, Values, splat, stored
from rlx_ir.expr import Tensor

__all__ = ["Grid", "gathered", "scattered"]

Fresh = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Grid:
    """How tiles lie over the images: `rows` × `columns` on each; the last ones may reach over the edge."""

    conv: Convolution
    tiles: Tiles

    @property
    def rows(self) -> int:
        return -(-self.conv.height.outputs // self.tiles.size)

    @property
    def columns(self) -> int:
        return -(-self.conv.width.outputs // self.tiles.size)

    @property
    def count(self) -> int:
        return self.conv.images * self.rows * self.columns

    def place(self, tile: Expr) -> tuple[Expr, Expr, Expr]:
        """Its image, and the row and column of its first result."""
        row, image, size = build.floor_div(tile, self.columns), build.index(0), self.tiles.size
        if self.conv.images > 1:
            image, row = build.floor_div(row, self.rows), build.mod(row, self.rows)
        return image, build.mul(row, size), build.mul(build.mod(tile, self.columns), size)


def gathered(grid: Grid, input: Buffer, tiles: Buffer, tile: Expr, to: Expr, lanes: int, fresh: Fresh) -> list[Stmt]:
    """`tiles[e, to]` = Bᵀ d B of one tile, for all channels. `input` is (N, H, W, C); what is outside of it is 0."""
    conv, reach, channel = grid.conv, grid.tiles.reach, fresh("channel")
    image, row, column = grid.place(tile)
    top, left = fresh("top"), fresh("left")
    rows, columns = _run(top, reach), _run(left, reach)

    def transform(*, guarded: bool) -> list[Stmt]:
        loads: list[Stmt] = []

        def pixel(row: Expr, column: Expr) -> Expr:
            load: Expr = Load(input, (image, row, column, Var(channel)), lanes)
            if guarded:
                load = Select(
                    _all(_within(row, conv.height.size), _within(column, conv.width.size)), load, _zero(lanes)
                )
            name = fresh("pixel")
            loads.append(Let(name, load))
            return Var(name, FLOAT32, lanes)

        seen = [[pixel(row, column) for column in columns] for row in rows]
        parts, results = transformed(seen, grid.tiles.inputs, lanes, fresh)
        stores = [
            Store(tiles, (build.index(i * reach + j), to, Var(channel)), value)
            for i, line in enumerate(results)
            for j, value in enumerate(line)
        ]
        return [*loads, *parts, *stores]

    whole = _all(
        _all(_within(rows[0], conv.height.size), _within(rows[-1], conv.height.size)),
        _all(_within(columns[0], conv.width.size), _within(columns[-1], conv.width.size)),
    )
    choice = If(whole, tuple(transform(guarded=False)), tuple(transform(guarded=True)))
    return [
        Let(top, build.sub(row, conv.height.before)),
        Let(left, build.sub(column, conv.width.before)),
        For(channel, build.index(0), build.index(conv.inputs), (choice,), lanes),
    ]


def scattered(
    grid: Grid,
    stage: Stage,
    buffers: Mapping[Tensor, Buffer],
    products: Buffer,
    tile: Expr,
    origin: Expr,
    lanes: int,
    fresh: Fresh,
) -> list[Stmt]:
    """The results of one tile: Aᵀ m A of `products[e, origin]`, what the stage does with a sum, and the store.

    Raises NotVectorisable where the epilogue's operands are not evenly spaced along the channels.
    """
    conv, reach, channel = grid.conv, grid.tiles.reach, fresh("channel")
    image, row, column = grid.place(tile)
    top, left = fresh("top"), fresh("left")
    axes = {axis.name: axis for axis in stage.axes}
    scope = Scope().variable(channel, 0, conv.outputs - lanes, lanes).variable(LANE, 0, lanes - 1)
    scope = scope.variable(top, 0, conv.height.outputs - 1).variable(left, 0, conv.width.outputs - 1)
    scope = scope.bind(axes[conv.channel.name], build.add(Var(channel), Var(LANE)))
    if conv.batch is not None:
        scope = scope.bind(axes[conv.batch.name], image)
    loads: list[Stmt] = []

    def product(place: int) -> Expr:
        name = fresh("product")
        loads.append(Let(name, Load(products, (build.index(place), origin, Var(channel)), lanes)))
        return Var(name, FLOAT32, lanes)

    seen = [[product(i * reach + j) for j in range(reach)] for i in range(reach)]
    parts, results = transformed(seen, grid.tiles.results, lanes, fresh)
    stores: list[Stmt] = []
    for y, line in zip(_run(top, grid.tiles.size), results, strict=True):
        for x, value in zip(_run(left, grid.tiles.size), line, strict=True):
            here = scope.bind(axes[conv.height.output.name], y).bind(axes[conv.width.output.name], x)
            values = Values(here, lanes, buffers, sums=lambda _, value=value: value)  # type: ignore[misc]
            result = splat(stored(values.lower(stage.body), stage.output.dtype), lanes)
            store: Stmt = values.store(stage.output, stage.indices, result)
            needed = [
                _below(place, along.outputs)
                for place, along in ((y, conv.height), (x, conv.width))
                if along.outputs % grid.tiles.size
            ]
            stores.append(If(_all(*needed), (store,)) if needed else store)
    return [
        Let(top, row),
        Let(left, column),
        For(channel, build.index(0), build.index(conv.outputs), (*loads, *parts, *stores), lanes),
    ]


def _run(start: str, count: int) -> Sequence[Expr]:
    return [build.add(Var(start), step) for step in range(count)]


def _within(index: Expr, size: int) -> Expr:
    return _all(Apply("ge", (index, build.index(0)), BOOL), _below(index, size))


def _below(index: Expr, size: int) -> Expr:
    return Apply("lt", (index, build.index(size)), BOOL)


def _all(first: Expr, *others: Expr) -> Expr:
    for other in others:
        first = Apply("and", (first, other), BOOL)
    return first


def _zero(lanes: int) -> Expr:
    return Broadcast(Literal(0.0, FLOAT32), lanes)
