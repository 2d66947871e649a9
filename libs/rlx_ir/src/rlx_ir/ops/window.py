"""Windows that slide over an image: the geometry that convolution and pooling share.

Along one dimension, output place `o` sees the input places `o·stride + k·dilation − before` for k in 0 … kernel − 1;
those outside of the input are padding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from rlx_ir.dims import Dim, add, floor_div
from rlx_ir.expr import Axis, Expr, extent
from rlx_ir.op import Array
from rlx_ir.ops.rules import refuse

__all__ = ["Padding", "Window", "kernel_axes", "padded", "windows"]

# [h, w] on both sides, [top, left, bottom, right] as ONNX's `pads`, or a rule that makes the sizes
Padding: TypeAlias = tuple[int, ...] | Literal["valid", "same_upper", "same_lower"]


@dataclass(frozen=True, slots=True)
class Window:
    """The window's way along one dimension: `size` of the input, `before` and `after` of padding, `output` places."""

    size: Dim
    kernel: int
    stride: int
    dilation: int
    before: int
    after: int
    output: Dim

    @property
    def reach(self) -> int:
        """The input places from a window's first to its last."""
        return (self.kernel - 1) * self.dilation + 1

    def place(self, output: Expr, kernel: Expr) -> Expr:
        """The input index that output place and kernel place see; padding where it is out of bounds."""
        return output * self.stride + kernel * self.dilation - self.before

    def seen(self, kernel: int) -> tuple[slice, slice]:
        """The output places at which this kernel place sees the input, and the input places that they see."""
        assert isinstance(self.size, int)
        assert isinstance(self.output, int)
        offset = kernel * self.dilation - self.before
        first = min(max(0, -(offset // self.stride)), self.output)
        end = max(first, min(self.output, (self.size - 1 - offset) // self.stride + 1))
        start = first * self.stride + offset
        return slice(first, end), slice(start, start + (end - first) * self.stride, self.stride)

    def inside(self, place: Expr) -> list[Expr]:
        """The conditions that an index is in bounds; only those that can fail."""
        conditions: list[Expr] = []
        if self.before > 0:
            conditions.append(place >= 0)
        if self._leaves_at_the_end():
            conditions.append(place < extent(self.size))
        return conditions

    def _leaves_at_the_end(self) -> bool:
        if isinstance(self.size, int) and isinstance(self.output, int):
            return (self.output - 1) * self.stride + self.reach - self.before > self.size
        return self.after > 0


def windows(
    op: str,
    sizes: Sequence[Dim],
    kernel: Sequence[int],
    strides: Sequence[int] | None,
    padding: Padding,
    dilations: Sequence[int] | None,
    round_up: bool = False,
) -> tuple[Window, ...]:
    """The windows over an image of these sizes. Raises E110 where an attribute has no meaning for it."""
    rank = len(sizes)
    strides, dilations = strides or (1,) * rank, dilations or (1,) * rank
    for name, values in (("kernel", kernel), ("strides", strides), ("dilations", dilations)):
        if len(values) != rank or any(value < 1 for value in values):
            raise refuse(
                op,
                f"{name} is {list(values)}",
                f"give {rank} whole numbers ≥ 1, for {_NAMES.get(rank, 'each dimension')}",
            )
    reaches = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    pads = _pads(op, sizes, reaches, strides, padding)
    found = []
    for i, size in enumerate(sizes):
        before, after = pads[i]
        output = _output_size(op, size, reaches[i], strides[i], before, after, round_up)
        found.append(Window(size, kernel[i], strides[i], dilations[i], before, after, output))
    return tuple(found)


def kernel_axes(along: Sequence[Window]) -> tuple[Axis, ...]:
    """The axes that run over a kernel."""
    names = ("kernel_depth", "kernel_height", "kernel_width")[-len(along) :]
    if len(along) > 3:
        names = tuple(f"reduce{i}" for i in range(len(along)))
    return tuple(Axis(name, window.kernel) for name, window in zip(names, along, strict=True))


_NAMES = {1: "width", 2: "height and width", 3: "depth, height and width"}


def _pads(
    op: str, sizes: Sequence[Dim], reaches: Sequence[int], strides: Sequence[int], padding: Padding
) -> list[tuple[int, int]]:
    rank = len(sizes)
    if isinstance(padding, str):
        if padding == "valid":
            return [(0, 0)] * rank
        return [_same(op, *window, padding == "same_upper") for window in zip(sizes, reaches, strides, strict=True)]
    if len(padding) not in (rank, 2 * rank) or any(pad < 0 for pad in padding):
        raise refuse(
            op,
            f"padding is {list(padding)}",
            f"give {rank} numbers ≥ 0 for both sides, {2 * rank} (all befores, then all afters), "
            '"same_upper", "same_lower" or "valid"',
        )
    after = padding[rank:] if len(padding) == 2 * rank else padding
    return list(zip(padding[:rank], after, strict=True))


def _same(op: str, size: Dim, reach: int, stride: int, upper: bool) -> tuple[int, int]:
    """The padding with which there are ⌈size ÷ stride⌉ output places; the odd one after (upper) or before."""
    if isinstance(size, int):
        whole = max((-(-size // stride) - 1) * stride + reach - size, 0)
    elif stride == 1:
        whole = reach - 1
    else:
        raise refuse(
            op, f'"same" padding of the unknown size {size} with stride {stride}', "give the padding as numbers"
        )
    smaller = whole // 2
    return (smaller, whole - smaller) if upper else (whole - smaller, smaller)


def _output_size(op: str, size: Dim, reach: int, stride: int, before: int, after: int, round_up: bool) -> Dim:
    if not isinstance(size, int):
        if round_up:
            raise refuse(
                op, f"ceil_mode over the unknown size {size}", "specialise the dimension, or leave ceil_mode out"
            )
        return add(floor_div(add(size, before + after - reach), stride), 1)
    room = size + before + after - reach
    if room < 0:
        if size == 0:
            return 0  # an empty image gives an empty result
        raise refuse(
            op,
            f"the window reaches over {reach} places, the padded input has {size + before + after}",
            "make the kernel or the dilation smaller, or the padding larger",
        )
    if not round_up:
        return room // stride + 1
    count = -(-room // stride) + 1
    # A window that begins in the padding after the input sees nothing of it.
    return count - 1 if (count - 1) * stride >= size + before else count


def padded(x: Array, along: Sequence[Window], value: Any) -> Array:
    """`x` with its last dimensions padded with `value` so far that no window leaves it: for the references."""
    lead = [(0, 0)] * (x.ndim - len(along))
    sides = []
    for window in along:
        assert isinstance(window.size, int)
        assert isinstance(window.output, int)
        end = (window.output - 1) * window.stride + window.reach - window.before - window.size
        sides.append((window.before, max(window.after, end, 0)))
    return np.pad(x, lead + sides, constant_values=value)
