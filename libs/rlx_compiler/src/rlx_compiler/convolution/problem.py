"""Recognising a convolution over images in a stage: what every algorithm for it needs to know.

The op is found by its expression, Σ select(inside, x[n, i, h·s + p·d − t, w·s + q·d − l] · weight[o, i, p, q], 0), not
by its name: whatever became of the nodes around it by fusion is the epilogue, and stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlx_base.dtypes import FLOAT32
from rlx_compiler.loops.address import linear_terms
from rlx_compiler.loops.ir import Expr as Index
from rlx_compiler.loops.ir import Var
from rlx_compiler.lowering.indices import Scope, index_of
from rlx_compiler.lowering.substitute import reduces
from rlx_ir import expr as ir
from rlx_ir.expr import Axis, Read, Reduce, Tensor
from rlx_ir.layout import Layout

__all__ = ["Convolution", "recognised"]


@dataclass(frozen=True, slots=True)
class Along:
    """One dimension of the image: the axes of the result and of the kernel, and how the window moves."""

    output: Axis
    kernel: Axis
    stride: int
    dilation: int
    before: int
    size: int

    @property
    def outputs(self) -> int:
        assert isinstance(self.output.extent, int)
        return self.output.extent

    @property
    def taps(self) -> int:
        assert isinstance(self.kernel.extent, int)
        return self.kernel.extent


@dataclass(frozen=True, slots=True)
class Convolution:
    """A dense convolution of float32 images with constant, finite weights (O, I, P, Q).

    `defined` is the whole stage, `reduce` the sum in it; what is around the sum is the epilogue. `batch` is None for
    one image.
    """

    defined: Tensor
    reduce: Reduce
    input: Tensor
    layout: Layout | None
    weight: str
    weights: NDArray[Any]
    batch: Axis | None
    channel: Axis
    height: Along
    width: Along

    @property
    def inputs(self) -> int:
        return int(self.weights.shape[1])

    @property
    def outputs(self) -> int:
        return int(self.weights.shape[0])

    @property
    def images(self) -> int:
        return 1 if self.batch is None or not isinstance(self.batch.extent, int) else self.batch.extent

    @property
    def products(self) -> int:
        """The multiplications of the definition."""
        return self.images * self.weights.size * self.height.outputs * self.width.outputs


def recognised(
    defined: Tensor, layouts: Mapping[str, Layout | None], constants: Mapping[str, NDArray[Any]]
) -> Convolution | None:
    """The convolution that a stage is, or None.

    Weights must be finite: algorithms read the zeros that stand for padding, and 0 · ∞ is not the nothing that a padded
    place adds.
    """
    if defined.body is None or len(found := reduces(defined.body)) != 1:
        return None
    (reduce,) = found
    product = reduce.body
    match product:
        case ir.Apply("select", (_, then, _)):
            product = then
    match product:
        case ir.Apply("mul", (Read() as x, Read() as w)) if len(x.indices) == len(w.indices) == 4:
            pass
        case _:
            return None
    weights = constants.get(w.tensor.name)
    if weights is None or w.tensor.dtype != FLOAT32 or x.tensor.dtype != FLOAT32 or not np.isfinite(weights).all():
        return None
    batch, channel_in, *places = x.indices
    o, i, p, q = w.indices
    if not all(isinstance(axis, Axis) for axis in (o, i, p, q)) or channel_in != i:
        return None
    assert isinstance(o, Axis)
    if set(reduce.axes) != {i, p, q}:
        return None
    height = _along(places[0], p, x.tensor.shape[2], defined)
    width = _along(places[1], q, x.tensor.shape[3], defined)
    if height is None or width is None or not (batch in defined.axes or isinstance(batch, ir.Literal)):
        return None
    image = batch if isinstance(batch, Axis) else None
    layout = layouts.get(x.tensor.name)
    return Convolution(defined, reduce, x.tensor, layout, w.tensor.name, weights, image, o, height, width)


def _along(place: ir.Expr, kernel: ir.Expr, size: object, defined: Tensor) -> Along | None:
    axes = [part for part in ir.walk(place) if isinstance(part, Axis) and part != kernel]
    if len(axes) != 1 or axes[0] not in defined.axes or not isinstance(kernel, Axis) or not isinstance(size, int):
        return None
    scope = Scope().bind(axes[0], Var("output")).bind(kernel, Var("kernel"))
    terms, constant = linear_terms(index_of(place, scope, _unread))
    output, tap = Var("output"), Var("kernel")
    if set(terms) != {output, tap}:
        return None
    return Along(axes[0], kernel, terms[output], terms[tap], -constant, size)


def _unread(_: ir.Expr) -> Index:
    raise ValueError("the places of an image are read from nowhere")
