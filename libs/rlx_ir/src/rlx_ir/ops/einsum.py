"""einsum: sums of products in Einstein's notation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rlx_ir.dims import Dim, Shape
from rlx_ir.expr import Axis, Expr, Tensor, cast, define, literal, total
from rlx_ir.op import Array, Op, operand_names, register
from rlx_ir.ops.axes import result_axes
from rlx_ir.ops.rules import accumulator, check_dtype, check_equal_dtypes, inherit, refuse
from rlx_ir.types import TensorType

__all__ = ["Einsum"]


@register
@dataclass(frozen=True, slots=True)
class Einsum(Op):
    """The product of all operands, summed over the letters that the result does not have, as in NumPy's `einsum`.

    In `equation`, each operand has a letter per dimension; `…` (three dots) stands for any number of leading
    dimensions, which broadcast. Without `->` the result has the letters that occur once, in alphabetical order.
    Errors: E110 where letters and dimensions do not fit. Source: ONNX Einsum-12.
    """

    name = "einsum"
    operands = ("inputs*",)

    equation: str

    def _parsed(self, shapes: list[Shape]) -> tuple[list[list[str]], list[str], dict[str, Dim]]:
        """The letters of each operand and of the result (`.0`, `.1`, … for the dots), and their sizes."""
        left, arrow, right = self.equation.replace(" ", "").partition("->")
        terms = left.split(",")
        if len(terms) != len(shapes):
            raise refuse(
                self.name, f"{self.equation!r} has {len(terms)} operands, {len(shapes)} are given", "equally many"
            )
        dots = max(
            (len(s) - len(t.replace("...", "")) for t, s in zip(terms, shapes, strict=True) if "..." in t), default=0
        )
        if dots < 0:
            raise refuse(self.name, f"{self.equation!r} has more letters than an operand has dimensions", "one each")
        letters: list[list[str]] = []
        sizes: dict[str, Dim] = {}
        for term, shape in zip(terms, shapes, strict=True):
            own = len(shape) - len(term.replace("...", ""))
            before, found, after = term.partition("...")
            names = [*before, *(f".{i}" for i in range(dots - own, dots)), *after] if found else list(term)
            if len(names) != len(shape) or not all(name[0].isalpha() or name[0] == "." for name in names):
                raise refuse(self.name, f"{term!r} for an operand with {len(shape)} dimensions", "one letter each")
            for name, size in zip(names, shape, strict=True):
                known = sizes.get(name, 1)
                if known != 1 and size not in (1, known):
                    raise refuse(self.name, f"{name!r} is {known} and {size} in {self.equation!r}", "equal sizes, or 1")
                sizes[name] = known if size == 1 else size
            letters.append(names)
        if arrow:
            before, found, after = right.partition("...")
            result = [*before, *(f".{i}" for i in range(dots) if found), *after]
        else:
            every = [name for names in letters for name in names]
            result = [f".{i}" for i in range(dots)] + sorted(
                n for n in set(every) if n[0] != "." and every.count(n) == 1
            )
        if len(set(result)) != len(result) or not set(result) <= set(sizes):
            raise refuse(self.name, f"the result {right!r} of {self.equation!r}", "each letter once, from the operands")
        return letters, result, sizes

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        if not inputs:
            raise refuse(self.name, "no operands", "give one or more")
        names = operand_names(self, len(inputs))
        check_dtype(self.name, names[0], inputs[0].dtype, "number")
        check_equal_dtypes(self.name, names, inputs)
        _, result, sizes = self._parsed([x.shape for x in inputs])
        return (inherit(inputs[0], tuple(sizes[name] for name in result)),)

    def expression(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        letters, result, sizes = self._parsed([x.shape for x in inputs])
        axes = result_axes(tuple(sizes[name] for name in result))
        summed = [name for name in sizes if name not in result]
        single = len(summed) == 1
        over = tuple(Axis("reduce" if single else f"reduce{i}", sizes[name]) for i, name in enumerate(summed))
        axis = dict(zip([*result, *summed], [*axes, *over], strict=True))
        wide = accumulator(inputs[0].dtype)
        y: Expr | None = None
        for x, names in zip(inputs, letters, strict=True):
            at = tuple(
                axis[name] if size == sizes[name] else literal(0, axis[name].dtype)
                for name, size in zip(names, x.shape, strict=True)
            )
            factor = cast(x[at], wide)
            y = factor if y is None else y * factor
        assert y is not None
        return (define("output", axes, cast(total(y, over=over), inputs[0].dtype)),)

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        letters, result, sizes = self._parsed([x.shape for x in inputs])
        number = {name: place for place, name in enumerate(sizes)}
        wide = [x.astype(np.float64) if x.dtype.kind == "f" else x for x in inputs]
        operands: list[Any] = [
            part for x, names in zip(wide, letters, strict=True) for part in (x, [number[n] for n in names])
        ]
        return (np.asarray(np.einsum(*operands, [number[n] for n in result])).astype(inputs[0].dtype),)
