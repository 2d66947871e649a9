"""FoldBatchNorm and FoldConvBias: what follows a convolution channel by channel moves into its weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rlx_ir.module import Node
from rlx_ir.ops.arithmetic import Add
from rlx_ir.ops.convolution import Conv2d
from rlx_ir.ops.normalization import BatchNorm
from rlx_ir.passes.base import Rewrite, Rewriting

__all__ = ["FoldBatchNorm", "FoldConvBias"]


def convolution_of(name: str | None, graph: Rewriting) -> Node | None:
    """The convolution with constant weights whose only use is `name`."""
    node = graph.producer(name)
    if node is None or not isinstance(node.op, Conv2d) or graph.uses(node.name) != 1:
        return None
    _, weight, bias = node.operands
    return node if graph.is_constant(weight) and (bias is None or graph.is_constant(bias)) else None


def folded(conv: Node, node: Node, scale: NDArray[np.float64], bias: NDArray[np.float64], graph: Rewriting) -> str:
    """A convolution that gives conv(x) · scale + bias, in the place of `node`, scheduled as `conv` was."""
    image, weight, old_bias = conv.operands
    assert weight is not None
    constant = graph.constant_at(weight)
    kernel = constant.array()
    added = np.asarray(graph.array(old_bias), np.float64) if old_bias is not None else np.zeros(kernel.shape[0])
    new_kernel = (kernel.astype(np.float64) * scale.reshape(-1, 1, 1, 1)).astype(kernel.dtype)
    new_bias = (added * scale + bias).astype(kernel.dtype)
    operands = (
        image,
        graph.constant(f"{node.name}_weight", new_kernel, like=constant),
        graph.constant(f"{node.name}_bias", new_bias),
    )
    (name,) = graph.add(conv.op, *operands, like=replace(node, schedule=conv.schedule))
    return name


@dataclass(frozen=True)
class FoldBatchNorm(Rewrite):
    """conv2d → batch_norm becomes one conv2d: w′ = w·γ/√(σ²+ε), b′ = (b−μ)·γ/√(σ²+ε)+β.

    Holds where weights and statistics are constants and the convolution has no other user; equal within rounding.
    """

    name = "fold-batch-norm"
    kinds = (BatchNorm,)

    def rewrite(self, node: Node, graph: Rewriting) -> Sequence[str] | None:
        assert isinstance(node.op, BatchNorm)
        conv = convolution_of(node.operands[0], graph)
        if conv is None or not all(name is None or graph.is_constant(name) for name in node.operands[1:]):
            return None
        scale, bias, mean, var = (
            np.full(1, absent) if name is None else np.asarray(graph.array(name), np.float64)
            for name, absent in zip(node.operands[1:], (1.0, 0.0, 0.0, 1.0), strict=True)
        )
        factor = scale / np.sqrt(var + node.op.eps)
        return [folded(conv, node, factor, bias - mean * factor, graph)]


@dataclass(frozen=True)
class FoldConvBias(Rewrite):
    """conv2d → add of one constant per channel becomes the bias of the conv2d.

    Holds where weights and addend are constants, the convolution has no other user and the addend does not vary over
    batch, height and width; equal within rounding.
    """

    name = "fold-conv-bias"
    kinds = (Add,)

    def rewrite(self, node: Node, graph: Rewriting) -> Sequence[str] | None:
        for image, addend in (node.operands, node.operands[::-1]):
            conv = convolution_of(image, graph)
            added = graph.array(addend)
            if conv is None or added is None or node.results[0].tensor.shape != conv.results[0].tensor.shape:
                continue
            channels = conv.results[0].tensor.shape[1]
            spread = added.reshape((1,) * (4 - added.ndim) + added.shape)
            if spread.shape in ((1, channels, 1, 1), (1, 1, 1, 1)):
                return [folded(conv, node, np.ones(1), spread.astype(np.float64).reshape(-1), graph)]
        return None
