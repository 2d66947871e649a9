"""One small function per operator, by family. Importing this package registers them all."""

from rlx_compiler.onnx.operators import (
    control,
    elementwise,
    indexing,
    linear,
    movement,
    normalization,
    quantization,
    reductions,
    shapes,
    windows,
)

__all__ = [
    "control",
    "elementwise",
    "indexing",
    "linear",
    "movement",
    "normalization",
    "quantization",
    "reductions",
    "shapes",
    "windows",
]
