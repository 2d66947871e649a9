"""`tile_layout`, `compute_schedule` and `memory_coalesce` as a text writes them."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Final

from rlx_base.span import Span
from rlx_ir.op import Op, nearest
from rlx_ir.schedule import ComputeSchedule, MemoryCoalesce, Schedule, Tile
from rlx_ir.text.source import Source
from rlx_ir.tiles import TileAxis, check_schedule, tile_axes, tiled_operands, wrong_tile
from rlx_ir.types import TensorType

__all__ = ["SCHEDULE", "read_schedule"]

SCHEDULE: Final = ("tile_layout", "compute_schedule", "memory_coalesce")
_COMPUTE: Final = ("parallel_dims", "vectorize_dim", "unroll", "order", "pipeline_depth")
_COALESCE: Final = ("width", "dim")


def read_schedule(
    source: Source,
    op: Op,
    given: Mapping[str, ast.expr],
    operands: Sequence[TensorType | None],
    results: Sequence[TensorType],
) -> Schedule:
    """The schedule that a call's arguments give to an op over these types, checked. Raises E018, E113 … E115."""
    return _ScheduleReader(source, op, operands, results).read(given)


class _ScheduleReader:
    def __init__(
        self, source: Source, op: Op, operands: Sequence[TensorType | None], results: Sequence[TensorType]
    ) -> None:
        self.source, self.op, self.operands, self.results = source, op, operands, results
        self.places: dict[tuple[str, ...], Span] = {}

    def at(self, *path: str) -> Span | None:
        """The place of the longest known beginning of a path."""
        while path and path not in self.places:
            path = path[:-1]
        return self.places.get(path)

    def read(self, given: Mapping[str, ast.expr]) -> Schedule:
        for attribute in SCHEDULE:
            if attribute in given:
                self.places[attribute,] = self.source.span(given[attribute])
        compute, coalesce = given.get("compute_schedule"), given.get("memory_coalesce")
        early = Schedule(
            (),
            None if compute is None else self.compute(compute),
            None if coalesce is None else self.coalesce(coalesce),
        )
        # An op without a schedule of its own says so before its tiles are looked at.
        check_schedule(self.op, self.operands, self.results, early, self.at)
        if "tile_layout" not in given:
            return early
        tiles = Schedule(self.tiles(given["tile_layout"]), early.compute_schedule, early.memory_coalesce)
        check_schedule(self.op, self.operands, self.results, tiles, self.at)
        return tiles

    def tiles(self, node: ast.expr) -> tuple[Tile, ...]:
        known = tiled_operands(self.op, len(self.operands), len(self.results))
        tiles: dict[str, Tile] = {}
        for name, key, value in self.source.entries(node, "tile_layout"):
            self.places["tile_layout", name] = self.source.span(key)
            if isinstance(value, ast.List | ast.Tuple):
                sizes = self._listed(name, value)
            else:
                sizes = self._named(name, value)
            tiles[name] = Tile(name, sizes)
        order = {name: place for place, name in enumerate(known)}
        return tuple(sorted(tiles.values(), key=lambda tile: order.get(tile.operand, len(order))))

    def axes(self, name: str) -> tuple[TileAxis, ...]:
        check_schedule(self.op, self.operands, self.results, Schedule((Tile(name, ()),)), self.at)
        return tile_axes(self.op, self.operands, self.results, name)

    def _listed(self, name: str, node: ast.List | ast.Tuple) -> tuple[tuple[str, int], ...]:
        """Block sizes in order: logical for activations, that of the declared layout for weights."""
        axes = self.axes(name)
        order = [axis for axis, _, _ in axes]
        type = self._type(name)
        if type.layout is not None and "O" in type.layout.logical:
            if type.layout.blocks:
                what = f".{name} is a list, but layout {type.layout} has blocks; name the axes"
                raise wrong_tile(self.op, self.operands, self.results, name, self.source.span(node), what)
            order = [type.layout.letter(dim.axis) for dim in type.layout.physical]
        if len(node.elts) != len(order):
            what = f".{name} has {len(node.elts)} sizes for {len(order)} axes ({', '.join(order)})"
            raise wrong_tile(self.op, self.operands, self.results, name, self.source.span(node), what)
        sizes = {axis: self._size(name, axis, item) for axis, item in zip(order, node.elts, strict=True)}
        return tuple((axis, sizes[axis]) for axis, _, _ in axes)

    def _named(self, name: str, node: ast.expr) -> tuple[tuple[str, int], ...]:
        sizes = {
            axis: self._size(name, axis, value, key)
            for axis, key, value in self.source.entries(node, f"tile_layout.{name}")
        }
        order = {axis: place for place, (axis, _, _) in enumerate(self.axes(name))}
        return tuple(sorted(sizes.items(), key=lambda item: order.get(item[0], len(order))))

    def _size(self, name: str, axis: str, node: ast.expr, key: ast.expr | None = None) -> int:
        known = {axis for axis, _, _ in self.axes(name)}
        self.places["tile_layout", name, axis] = self.source.span(node if axis in known or key is None else key)
        return self.source.integer(node, "a block size")

    def _type(self, name: str) -> TensorType:
        known = tiled_operands(self.op, len(self.operands), len(self.results))
        type = (*self.operands, *self.results)[known.index(name)]
        assert type is not None
        return type

    def fields(self, attribute: str, node: ast.expr, known: tuple[str, ...]) -> dict[str, ast.expr]:
        fields: dict[str, ast.expr] = {}
        for name, key, value in self.source.entries(node, attribute):
            self.places[attribute, name] = self.source.span(value)
            if name not in known:
                raise self.source.error(
                    "E016", key, call=attribute, name=name, hint=nearest(name, known), known=", ".join(known)
                )
            fields[name] = value
        return fields

    def compute(self, node: ast.expr) -> ComputeSchedule:
        fields = self.fields("compute_schedule", node, _COMPUTE)

        def names(field: str) -> tuple[str, ...]:
            if field not in fields:
                return ()
            return tuple(self.source.string(item, "a dimension") for item in self.source.items(fields[field], field))

        unroll: tuple[tuple[str, int], ...] = ()
        if "unroll" in fields:
            unroll = tuple(
                (name, self.source.integer(value, "a count"))
                for name, _, value in self.source.entries(fields["unroll"], "unroll")
            )
        return ComputeSchedule(
            names("parallel_dims"),
            self.source.string(fields["vectorize_dim"], "vectorize_dim") if "vectorize_dim" in fields else None,
            unroll,
            names("order"),
            self.source.integer(fields["pipeline_depth"], "pipeline_depth") if "pipeline_depth" in fields else None,
        )

    def coalesce(self, node: ast.expr) -> MemoryCoalesce:
        fields = self.fields("memory_coalesce", node, _COALESCE)
        if "width" not in fields:
            raise self.source.error("E017", node, call="memory_coalesce", name="width", known="width and dim")
        dim = self.source.string(fields["dim"], "dim") if "dim" in fields else None
        return MemoryCoalesce(self.source.integer(fields["width"], "width"), dim)
