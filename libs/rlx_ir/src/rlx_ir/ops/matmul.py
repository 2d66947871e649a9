"""Matrix products: matmul, gemm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rlx_ir.expr import Axis, Expr, Tensor, cast, define, total
from rlx_ir.op import Array, Op, as_arrays, register
from rlx_ir.ops.axes import read_broadcast, result_axes
from rlx_ir.ops.rules import accumulator, broadcast, check_dtype, check_equal_dtypes, check_rank, inherit, refuse
from rlx_ir.types import TensorType

__all__ = ["Gemm", "MatMul"]


def _widened(x: Array) -> Array:
    """Floats as float64, in which sums of products round only once at the end; integers as they are, so they wrap."""
    return x.astype(np.float64) if x.dtype.kind == "f" else x


@register
@dataclass(frozen=True, slots=True)
class MatMul(Op):
    """c[…, m, n] = Σₖ a[…, m, k] · b[…, k, n]; leading dimensions broadcast as in NumPy.

    Shapes: a (…, m, k), b (…, k, n) → (…, m, n); an operand of rank 1 is a row at the left, a column at the right, and
    its dimension is left out of the result. Errors: E110 where the two k differ. Source: ONNX MatMul-13.
    """

    name = "matmul"
    operands = ("a", "b")

    def infer(self, a: TensorType, b: TensorType) -> tuple[TensorType, ...]:
        check_dtype(self.name, "a", a.dtype, "number")
        check_equal_dtypes(self.name, ("a", "b"), (a, b))
        if a.rank == 0 or b.rank == 0:
            raise refuse(self.name, f"a is {a} and b is {b}", "a number multiplies with `*` (rlx.mul)")
        k, other = a.shape[-1], b.shape[-2] if b.rank > 1 else b.shape[0]
        if k != other:
            raise refuse(
                self.name,
                f"a {a} has {k} columns, b {b} has {other} rows",
                "these two must be equal; rlx.transpose may be missing",
            )
        lead = broadcast(self.name, ("a", "b"), [TensorType(t.shape[:-2], t.dtype) for t in (a, b)])
        shape = lead + a.shape[-2:-1] + (b.shape[-1:] if b.rank > 1 else ())
        return (inherit(a, shape),)

    def expression(self, a: Tensor, b: Tensor) -> tuple[Tensor, ...]:
        (type,) = self.infer(TensorType(a.shape, a.dtype), TensorType(b.shape, b.dtype))
        axes = result_axes(type.shape)
        reduce = Axis("reduce", a.shape[-1])
        kept = (1 if a.rank > 1 else 0) + (1 if b.rank > 1 else 0)
        lead, own = axes[: len(axes) - kept], axes[len(axes) - kept :]
        left: tuple[Expr, ...] = (*_leading(a, lead), *(own[:1] if a.rank > 1 else ()), reduce)
        right: tuple[Expr, ...] = (*_leading(b, lead), reduce, *(own[-1:] if b.rank > 1 else ()))
        wide = accumulator(a.dtype)
        c = total(cast(a[left], wide) * cast(b[right], wide), over=(reduce,))
        return (define("output", axes, cast(c, a.dtype)),)

    def reference(self, a: Array, b: Array) -> tuple[Array, ...]:
        return as_arrays([np.asarray(np.matmul(_widened(a), _widened(b))).astype(a.dtype)])


def _leading(tensor: Tensor, lead: tuple[Axis, ...]) -> tuple[Expr, ...]:
    """The indices of a matrix's leading dimensions, broadcast."""
    outer = Tensor(tensor.name, tensor.shape[:-2], tensor.dtype)
    return read_broadcast(outer, lead).indices


@register
@dataclass(frozen=True, slots=True)
class Gemm(Op):
    """y = alpha · A · B + beta · c, where A is a or its transpose (`trans_a`), B is b or its transpose (`trans_b`).

    Shapes: A (m, k), B (k, n), c broadcast to (m, n) → (m, n). Errors: E110 where they do not fit.
    Source: ONNX Gemm-13, for floats.
    """

    name = "gemm"
    operands = ("a", "b", "c?")

    alpha: float = 1.0
    beta: float = 1.0
    trans_a: bool = False
    trans_b: bool = False

    def infer(self, a: TensorType, b: TensorType, c: TensorType | None = None) -> tuple[TensorType, ...]:
        check_rank(self.name, "a", a, 2, "row, column")
        check_rank(self.name, "b", b, 2, "row, column")
        check_dtype(self.name, "a", a.dtype, "float")
        check_equal_dtypes(self.name, ("a", "b"), (a, b))
        m, k = reversed(a.shape) if self.trans_a else a.shape
        other, n = reversed(b.shape) if self.trans_b else b.shape
        if k != other:
            raise refuse(
                self.name,
                f"A of a {a} with trans_a={self.trans_a} has {k} columns, "
                f"B of b {b} with trans_b={self.trans_b} has {other} rows",
                "these two must be equal; trans_a or trans_b may be the wrong way round",
            )
        if c is not None:
            check_equal_dtypes(self.name, ("a", "c"), (a, c))
            product = TensorType((m, n), a.dtype)
            if broadcast(self.name, ("a·b", "c"), (product, c)) != (m, n):
                raise refuse(
                    self.name, f"c {c} is larger than a·b {product}", "c may only repeat to the product's shape"
                )
        return (inherit(a, (m, n)),)

    def expression(self, a: Tensor, b: Tensor, c: Tensor | None = None) -> tuple[Tensor, ...]:
        m, k = reversed(a.shape) if self.trans_a else a.shape
        n = b.shape[0] if self.trans_b else b.shape[1]
        row, column = axes = result_axes((m, n))
        reduce = Axis("reduce", k)
        wide = accumulator(a.dtype)
        left = a[reduce, row] if self.trans_a else a[row, reduce]
        right = b[column, reduce] if self.trans_b else b[reduce, column]
        y = total(cast(left, wide) * cast(right, wide), over=(reduce,))
        if self.alpha != 1.0:
            y = y * self.alpha
        if c is not None and self.beta != 0.0:
            added = cast(read_broadcast(c, axes), wide)
            y = y + (added if self.beta == 1.0 else added * self.beta)
        return (define("output", axes, cast(y, a.dtype)),)

    def reference(self, a: Array, b: Array, c: Array | None = None) -> tuple[Array, ...]:
        left, right = _widened(a.T if self.trans_a else a), _widened(b.T if self.trans_b else b)
        y = self.alpha * np.matmul(left, right)
        if c is not None and self.beta != 0.0:
            y = y + self.beta * _widened(c)
        return as_arrays([y.astype(a.dtype)])
