"""The definition, on a copy of the image that has its padding around it and its channels in blocks.

In the copy no window leaves the image, so rows have no edges to be done one by one; and neighbouring pixels are a
vector apart instead of all channels, whose addresses would meet in the same few lines of the cache. Rows so narrow that
two of them fill a register tile become one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from rlx_base.dtypes import FLOAT32
from rlx_compiler.convolution.alternative import Alternative, Offer
from rlx_compiler.convolution.cost import direct
from rlx_compiler.convolution.problem import Along, Convolution
from rlx_compiler.lowering.collapse import collapse
from rlx_compiler.lowering.kernels import lower_stage, lower_stored
from rlx_compiler.lowering.storage import Stage, physical
from rlx_compiler.lowering.substitute import rebuild, replace_axes
from rlx_compiler.schedule.asked import NOTHING_ASKED
from rlx_compiler.schedule.effort import FULL
from rlx_compiler.targets.spec import TargetSpec
from rlx_ir.expr import Axis, Expr, Read, Reduce, Tensor, all_of, children, define, literal, select, total
from rlx_ir.layout import Layout

__all__ = ["bordered"]

_TILE: Final = 14  # pixels: as many as a register tile has at most
_COPIED: Final = 16.0  # bytes a cycle, read and written


def bordered(
    conv: Convolution, layouts: Mapping[str, Layout | None], params: Mapping[str, str], spec: TargetSpec
) -> Offer | None:
    """The convolution on a copy of its image; None where channels are not whole vectors."""
    lanes = spec.lanes(FLOAT32)
    if lanes == 1 or conv.inputs % lanes or conv.outputs % lanes or str(conv.layout) != "NHWC":
        return None
    return _Bordered(conv, layouts, params, spec, lanes)


@dataclass(frozen=True)
class _Bordered:
    conv: Convolution
    layouts: Mapping[str, Layout | None]
    params: Mapping[str, str]
    spec: TargetSpec
    lanes: int

    algorithm = "bordered"

    @property
    def cycles(self) -> float:
        return direct(self.conv, self.spec, edges=False) + self._copy_bytes / _COPIED

    @property
    def _copy_bytes(self) -> int:
        rows, columns = _reached(self.conv.height), _reached(self.conv.width)
        return 2 * self.conv.images * self.conv.inputs * rows * columns * FLOAT32.itemsize

    @property
    def _copied(self) -> Tensor:
        """`copy[n, i ÷ lanes, y, x, i mod lanes]`: the image with all that any window sees."""
        conv, size = self.conv, self.conv.input.shape
        height, width = _reached(conv.height), _reached(conv.width)
        image, block = Axis("batch", conv.images), Axis("channel_block", conv.inputs // self.lanes)
        row, column, inside = Axis("height", height), Axis("width", width), Axis("channel", self.lanes)
        y, x = row - conv.height.before, column - conv.width.before
        guards: list[Expr] = []
        for place, along, all in ((y, conv.height, height), (x, conv.width, width)):
            guards += [place >= 0] if along.before else []
            guards += [place < along.size] if all - along.before > along.size else []
        value: Expr = Read(conv.input, (image, block * self.lanes + inside, y, x))
        assert len(size) == 4
        body = select(all_of(guards), value, literal(0, FLOAT32))
        copied = define("copy", (image, block, row, column, inside), body)
        return replace(copied, name=f"{conv.defined.name}.image")

    def built(self) -> Alternative:
        conv, copied = self.conv, self._copied
        blocked = f"{conv.weight}.blocks{self.lanes}"
        blocks = conv.inputs // self.lanes
        out, per, high, wide = conv.weights.shape
        weights = conv.weights.reshape(out, blocks, per // blocks, high, wide)
        own = Tensor(blocked, weights.shape, FLOAT32)
        source = Tensor(copied.name, copied.shape, FLOAT32)
        block, inside = Axis("input_channel_block", blocks), Axis("input_channel", self.lanes)
        image = conv.batch if conv.batch is not None else literal(0)
        y, x = _place(conv.height), _place(conv.width)
        p, q = conv.height.kernel, conv.width.kernel
        product = Read(source, (image, block, y, x, inside)) * Read(own, (conv.channel, block, inside, p, q))
        sum = total(product, over=(block, inside, p, q))
        assert conv.defined.body is not None
        defined = replace(conv.defined, body=_exchanged(conv.defined.body, conv.reduce, sum))
        layouts = {**self.layouts, source.name: None, own.name: None}
        first = lower_stage(
            copied,
            "conv2d_image",
            self.layouts,
            {conv.input.name: self.params[conv.input.name], copied.name: "image"},
            (),
            self.spec,
            NOTHING_ASKED,
            FULL,
        )
        stage = collapse(_rows_joined(physical(defined, layouts), conv))
        names = {**self.params, source.name: "image", own.name: "weight", defined.name: "output"}
        second = lower_stored(stage, "conv2d", names, {own.name}, self.spec, NOTHING_ASKED, FULL)
        reason = f"on a copy of the image, its padding around it and its channels in blocks of {self.lanes}"
        return Alternative(
            ((".image", first), ("", second)),
            (source,),
            {own.name: weights},
            (f"{reason}: {self._copy_bytes >> 10} KiB",),
        )


def _reached(along: Along) -> int:
    """How many places the windows see, from the first to the last."""
    return (along.outputs - 1) * along.stride + (along.taps - 1) * along.dilation + 1


def _place(along: Along) -> Expr:
    return along.output * along.stride + along.kernel * along.dilation


def _exchanged(expr: Expr, old: Reduce, new: Expr) -> Expr:
    if expr == old:
        return new
    return rebuild(expr, lambda part: _exchanged(part, old, new)) if children(expr) else expr


def _rows_joined(stage: Stage, conv: Convolution) -> Stage:
    """The stage with one axis for rows and columns, where two rows fit into a tile."""
    axes = {axis.name: axis for axis in stage.axes}
    height, width = axes.get(conv.height.output.name), axes.get(conv.width.output.name)
    if height is None or width is None or 2 * conv.width.outputs > _TILE:
        return stage
    if stage.axes.index(width) != stage.axes.index(height) + 1:
        return stage
    pixel = Axis("height_width", conv.height.outputs * conv.width.outputs)
    values: dict[Axis, Expr] = {height: pixel // conv.width.outputs, width: pixel % conv.width.outputs}
    joined = tuple(pixel if axis == height else axis for axis in stage.axes if axis != width)
    indices = tuple(replace_axes(index, values) for index in stage.indices)
    return Stage(stage.output, joined, indices, replace_axes(stage.body, values))
