"""dft: the discrete Fourier transform."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rlx_base.dtypes import FLOAT64, INDEX
from rlx_ir.dims import Shape
from rlx_ir.expr import Axis, Expr, Tensor, apply, cast, define, literal, select, total
from rlx_ir.op import Array, Op, register
from rlx_ir.ops.axes import result_axes
from rlx_ir.ops.rules import check_dtype, inherit, position, refuse
from rlx_ir.types import TensorType

__all__ = ["Dft"]


@register
@dataclass(frozen=True, slots=True)
class Dft(Op):
    """y[…, k, …] = Σₙ x[…, n, …] · e^(∓2πi·k·n/N) along `axis`; the inverse has + and divides by N.

    The last dimension of x holds real parts (1) or real and imaginary parts (2), that of y both. N is `length`, or the
    axis's size: x is cut or filled with zeros. `onesided` keeps k = 0 … N/2; an inverse of a onesided spectrum takes
    the other half as its conjugate and gives real numbers.
    Errors: E110 for another last dimension, its own axis, or an unknown size. Source: ONNX DFT-20.
    """

    name = "dft"
    operands = ("x",)

    axis: int = -2
    length: int | None = None
    inverse: bool = False
    onesided: bool = False

    def _sizes(self, shape: Shape) -> tuple[int, int, int, Shape]:
        """The axis, how many places of x count, N, and the result's shape."""
        axis = position(self.name, self.axis, len(shape))
        size, parts = shape[axis], shape[-1]
        if axis == len(shape) - 1 or parts not in (1, 2) or not isinstance(size, int):
            raise refuse(self.name, f"x has the shape {list(map(str, shape))}, axis {axis}", "(…, n, …, 1 or 2)")
        if self.onesided and self.inverse:
            n = self.length if self.length is not None else 2 * (size - 1)
            return axis, min(size, n // 2 + 1), n, (*shape[:axis], n, *shape[axis + 1 : -1], 1)
        n = size if self.length is None else self.length
        if n < 1:
            raise refuse(self.name, f"a transform of {n} places", "give a length ≥ 1")
        count = n // 2 + 1 if self.onesided else n
        return axis, min(size, n), n, (*shape[:axis], count, *shape[axis + 1 : -1], 2)

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        check_dtype(self.name, "x", x.dtype, "float")
        return (inherit(x, self._sizes(x.shape)[3]),)

    def expression(self, x: Tensor) -> tuple[Tensor, ...]:
        axis, counted, n, shape = self._sizes(x.shape)
        axes = result_axes(shape)
        # Terms of a transform cancel: in float64 what should be 0 is, to float32's last place.
        step, wide = Axis("reduce", counted), FLOAT64
        # k · n modulo N keeps the angle small, and exact.
        turn = cast((axes[axis] * step) % n, wide) * (2 * math.pi / n)
        cosine, sine = apply("cos", turn), apply("sin", turn) * (1.0 if self.inverse else -1.0)

        def part(number: int) -> Expr:
            return cast(x[(*axes[:axis], step, *axes[axis + 1 : -1], literal(number, INDEX))], wide)

        real, imaginary = part(0) * cosine, part(0) * sine
        if x.shape[-1] == 2:
            real, imaginary = real - part(1) * sine, imaginary + part(1) * cosine
        if self.onesided and self.inverse:
            twice = apply("and", step > 0, apply("ne", step * 2, n))
            y = total(real * select(twice, literal(2.0, wide), 1.0), over=(step,))
        else:
            y = total(select(apply("eq", axes[-1], 0), real, imaginary), over=(step,))
        return (define("output", axes, cast(y / n if self.inverse else y, x.dtype)),)

    def reference(self, x: Array) -> tuple[Array, ...]:
        axis, _, n, _ = self._sizes(x.shape)
        wide = x.astype(np.float64)
        values = wide[..., 0] + (1j * wide[..., 1] if x.shape[-1] == 2 else 0)
        if self.onesided and self.inverse:
            return (np.fft.irfft(values, n, axis)[..., None].astype(x.dtype),)
        y = np.fft.ifft(values, n, axis) if self.inverse else np.fft.fft(values, n, axis)
        if self.onesided:
            y = y.take(range(n // 2 + 1), axis=axis)
        return (np.stack([y.real, y.imag], axis=-1).astype(x.dtype),)
