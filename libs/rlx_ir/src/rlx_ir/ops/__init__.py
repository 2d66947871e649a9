"""The ops of RLX, one file per family. Importing this package registers them all."""

from rlx_ir.ops import (
    activation,
    arithmetic,
    comparison,
    convolution,
    copying,
    functions,
    matmul,
    normalization,
    pooling,
    reduction,
    softmax,
)

__all__ = [
    "activation",
    "arithmetic",
    "comparison",
    "convolution",
    "copying",
    "functions",
    "matmul",
    "normalization",
    "pooling",
    "reduction",
    "softmax",
]
