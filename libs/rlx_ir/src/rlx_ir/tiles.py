"""What a schedule may say about an op: the axes of each operand's tile, and the checks of all three attributes.

A tile names axes by layout letters where the tensor has a role (activations `NCHW`, weights `OIHW`), otherwise by the
names of the iteration axes (`row`, `column`, `reduce`), as the op's tensor expression reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final, TypeAlias

from rlx_base.errors import VerifyError
from rlx_base.span import Span
from rlx_ir.dims import Dim
from rlx_ir.expr import Axis, Read, Tensor, stages, walk
from rlx_ir.op import Op, expression_of, nearest, operand_names
from rlx_ir.regions import RegionOp
from rlx_ir.schedule import Schedule
from rlx_ir.types import TensorType

__all__ = ["TileAxis", "check_schedule", "legal_tiles", "tile_axes", "tiled_operands", "wrong_tile"]

TileAxis: TypeAlias = tuple[str, Dim, str]  # how a tile calls it, its extent, and its dimension's name
Places: TypeAlias = Callable[..., Span | None]

_ACTIVATION: Final = {"N": "batch", "C": "output_channel", "D": "depth", "H": "height", "W": "width"}
_WEIGHT: Final = {
    "O": "output_channel",
    "I": "input_channel",
    "D": "kernel_depth",
    "H": "kernel_height",
    "W": "kernel_width",
}
_MATRIX: Final = {"R": "row", "C": "column"}
_LETTERS: Final = {name: letter for letter, name in _ACTIVATION.items()}
_BY_RANK: Final = {3: "NCW", 4: "NCHW", 5: "NCDHW"}


def tiled_operands(op: Op, count: int, results: int) -> tuple[str, ...]:
    """The names that a `tile_layout` may use: the operands', then the results'."""
    return (*operand_names(op, count), *_result_names(op, results))


def _result_names(op: Op, count: int) -> tuple[str, ...]:
    """As `operand_names`: a variable number of results `outputs*` is called outputs0, outputs1, …"""
    names = [name for name in op.results if not name.endswith("*")]
    stem = op.results[-1].rstrip("*")
    return tuple(names[:count] + [f"{stem}{i}" for i in range(count - len(names))])


def tile_axes(
    op: Op, operands: Sequence[TensorType | None], results: Sequence[TensorType], name: str
) -> tuple[TileAxis, ...]:
    """The axes of one operand's or result's tile, in logical order."""
    return _tile_axes(op, tuple(operands), tuple(results), name)


def legal_tiles(
    op: Op, operands: Sequence[TensorType | None], results: Sequence[TensorType]
) -> dict[str, dict[str, Dim]]:
    """The largest block of each axis, by operand: a tile may have any size from 1 to it. None for an op of modules."""
    if isinstance(op, RegionOp):
        return {}
    absent = {n for n, type in zip(operand_names(op, len(operands)), operands, strict=False) if type is None}
    names = [name for name in tiled_operands(op, len(operands), len(results)) if name not in absent]
    return {name: {axis: extent for axis, extent, _ in tile_axes(op, operands, results, name)} for name in names}


# A text asks for the axes of one op many times, and its expression is costly to walk.
@lru_cache(maxsize=1024)
def _iteration_axes(op: Op, operands: tuple[TensorType | None, ...]) -> tuple[str, ...]:
    return op.iteration_axes(*operands)


@lru_cache(maxsize=1024)
def _tile_axes(
    op: Op, operands: tuple[TensorType | None, ...], results: tuple[TensorType, ...], name: str
) -> tuple[TileAxis, ...]:
    names = operand_names(op, len(operands))
    if name in names:
        type = operands[names.index(name)]
        assert type is not None
        return _axes_of(op, operands, name, type, input=True)
    return _axes_of(op, operands, name, results[_result_names(op, len(results)).index(name)], input=False)


def _axes_of(
    op: Op, operands: Sequence[TensorType | None], name: str, type: TensorType, *, input: bool
) -> tuple[TileAxis, ...]:
    if type.layout is not None:
        letters = type.layout.logical
        table = _WEIGHT if "O" in letters else _MATRIX if "R" in letters else _ACTIVATION
        return _lettered(letters, table, type, input=input)
    if _slides(op, operands) and type.rank in _BY_RANK:
        if name == "weight":
            return _lettered("OI" + _BY_RANK[type.rank][2:], _WEIGHT, type, input=input)
        return _lettered(_BY_RANK[type.rank], _ACTIVATION, type, input=input)
    dimensions = _dimensions(op, operands, name, type, input=input)
    if type.rank in _BY_RANK and all(dimension in _LETTERS for dimension in dimensions):
        return tuple((_LETTERS[d], extent, d) for d, extent in zip(dimensions, type.shape, strict=True))
    return tuple((d, extent, d) for d, extent in zip(dimensions, type.shape, strict=True))


def _lettered(letters: str, table: dict[str, str], type: TensorType, *, input: bool) -> tuple[TileAxis, ...]:
    """The channels of what an op reads are its input channels."""
    return tuple(
        (letter, extent, "input_channel" if input and letter == "C" and table is _ACTIVATION else table[letter])
        for letter, extent in zip(letters, type.shape, strict=True)
    )


def _slides(op: Op, operands: Sequence[TensorType | None]) -> bool:
    """Whether the op moves a window over its input, as convolutions and pools do."""
    return any(axis.startswith("kernel_") for axis in _iteration_axes(op, tuple(operands)))


def _dimensions(
    op: Op, operands: Sequence[TensorType | None], name: str, type: TensorType, *, input: bool
) -> tuple[str, ...]:
    """The iteration axis along each dimension, as the expression reads or defines it; dim0, dim1, … where none."""
    defined = expression_of(op, operands)
    axes: Sequence[object] = ()
    if input:
        axes = next(
            (read.indices for read in _reads(defined) if read.tensor.name == name and read.tensor.body is None), ()
        )
    else:
        axes = defined[_result_names(op, len(defined)).index(name)].axes
    found = tuple(axis.name if isinstance(axis, Axis) else f"dim{i}" for i, axis in enumerate(axes))
    if len(found) != type.rank or len(set(found)) != len(found):
        return tuple(f"dim{i}" for i in range(type.rank))
    return found


def _reads(defined: Sequence[Tensor]) -> list[Read]:
    return [
        part
        for tensor in stages(defined)
        if tensor.body is not None
        for part in walk(tensor.body)
        if isinstance(part, Read)
    ]


def _anywhere(*_: str) -> Span | None:
    return None


def check_schedule(
    op: Op,
    operands: Sequence[TensorType | None],
    results: Sequence[TensorType],
    schedule: Schedule,
    at: Places = _anywhere,
) -> None:
    """Raises E113, E114, E115 where a schedule names what the op does not have, or a tile is larger than its axis.

    `at` gives the place of a part: `at("tile_layout", "output", "C")`; `at("compute_schedule", "order")`.
    """
    if schedule == Schedule():
        return
    if isinstance(op, RegionOp):
        raise VerifyError(
            "E114",
            at=at("compute_schedule"),
            op=op.name,
            what="an op that runs modules has no schedule",
            known="in its modules",
        )
    _check_tiles(op, operands, results, schedule, at)
    axes = _iteration_axes(op, tuple(operands))
    compute = schedule.compute_schedule
    if compute is not None:
        named = {
            "parallel_dims": compute.parallel_dims,
            "vectorize_dim": () if compute.vectorize_dim is None else (compute.vectorize_dim,),
            "unroll": tuple(name for name, _ in compute.unroll),
            "order": compute.order,
        }
        for field, dims in named.items():
            _check_dims(op, field, dims, axes, at)
        counts = [("unroll", count) for _, count in compute.unroll]
        counts += [] if compute.pipeline_depth is None else [("pipeline_depth", compute.pipeline_depth)]
        for field, count in counts:
            if not 1 <= count <= 1 << 16:
                raise _wrong_schedule(op, axes, at, field, f"{field} is from 1 to 65536, not {count}")
    coalesce = schedule.memory_coalesce
    if coalesce is not None:
        if not 1 <= coalesce.width <= 1 << 16:
            what = f"width is a number of bytes from 1 to 65536, not {coalesce.width}"
            raise VerifyError("E115", at=at("memory_coalesce", "width"), op=op.name, what=what)
        if coalesce.dim is not None and coalesce.dim not in axes:
            what = f"{coalesce.dim!r} is no dimension of this op{nearest(coalesce.dim, axes)}"
            raise VerifyError("E115", at=at("memory_coalesce", "dim"), op=op.name, what=what)


def _wrong_schedule(op: Op, axes: Sequence[str], at: Places, field: str, what: str) -> VerifyError:
    return VerifyError("E114", at=at("compute_schedule", field), op=op.name, what=what, known=", ".join(axes) or "none")


def _check_dims(op: Op, field: str, dims: Sequence[str], axes: Sequence[str], at: Places) -> None:
    for dim in dims:
        if dim not in axes:
            what = f"{field} names {dim!r}, which is no dimension of this op{nearest(dim, axes)}"
            raise _wrong_schedule(op, axes, at, field, what)
        if dims.count(dim) > 1:
            raise _wrong_schedule(op, axes, at, field, f"{field} names {dim!r} twice")


def _check_tiles(
    op: Op, operands: Sequence[TensorType | None], results: Sequence[TensorType], schedule: Schedule, at: Places
) -> None:
    known = tiled_operands(op, len(operands), len(results))
    absent = {n for n, type in zip(operand_names(op, len(operands)), operands, strict=False) if type is None}
    for tile in schedule.tile_layout:
        name = tile.operand
        place = at("tile_layout", name)
        if name not in known or name in absent:
            what = f" names {name!r}, which this op does not have{nearest(name, known)}"
            raise wrong_tile(op, operands, results, name, place, what)
        axes = {axis: (extent, dimension) for axis, extent, dimension in tile_axes(op, operands, results, name)}
        for axis, size in tile.sizes:
            place = at("tile_layout", name, axis)
            if axis not in axes:
                hint = nearest(axis, axes) or f"; it has {', '.join(axes) or 'none'}"
                raise wrong_tile(op, operands, results, name, place, f".{name} names axis {axis!r}{hint}")
            extent, dimension = axes[axis]
            if size < 1:
                raise wrong_tile(op, operands, results, name, place, f".{name} has {axis}={size}", "at least 1")
            if isinstance(extent, int) and size > max(1, extent):
                what = f".{name} has {axis}={size}, but {dimension} is {extent}"
                raise wrong_tile(op, operands, results, name, place, what, f"at most {max(1, extent)}")


def wrong_tile(
    op: Op,
    operands: Sequence[TensorType | None],
    results: Sequence[TensorType],
    name: str,
    at: Span | None,
    what: str,
    label: str = "",
) -> VerifyError:
    """E113, with the blocks that the operand may have; those of all, where it has no operand of that name."""
    known = legal_tiles(op, operands, results)
    legal = "; ".join(
        f"{operand} {{{', '.join(f'{axis}: 1..{extent}' for axis, extent in axes.items())}}}"
        for operand, axes in known.items()
        if operand == name or name not in known
    )
    file = at.file if at else "MODEL"
    return VerifyError("E113", at=at, op=op.name, what=what, file=file, label=label, legal=legal or "none")
