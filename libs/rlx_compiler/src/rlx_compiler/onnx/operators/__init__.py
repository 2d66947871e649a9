"""One small function per operator, by family. Importing this package registers them all."""

from rlx_compiler.onnx.operators import (
    control,
    elementwise,
    indexing,
    linear,
    movement,
    normalization,
    quantization,
    recurrent,
    reductions,
    shapes,
    signal,
    training,
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
    "recurrent",
    "reductions",
    "shapes",
    "signal",
    "training",
    "windows",
]
