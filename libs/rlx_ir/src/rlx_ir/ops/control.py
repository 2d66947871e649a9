"""Ops that run other modules of the same file: call, cond.

A region takes values of exactly the types that its inputs declare, and is pure: it reads nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rlx_ir.module import Module
from rlx_ir.op import register
from rlx_ir.ops.rules import check_dtype, refuse
from rlx_ir.regions import RegionOp, region_results
from rlx_ir.types import TensorType

__all__ = ["Call", "Cond"]


@register
@dataclass(frozen=True, slots=True)
class Call(RegionOp):
    """The outputs of a module, given its inputs in order.

    Errors: E109 where the module takes other types. Source: ONNX model-local functions.
    """

    name = "call"
    operands = ("arguments*",)
    results = ("outputs*",)

    def infer_regions(
        self, regions: tuple[Module, ...], operands: Sequence[TensorType | None]
    ) -> tuple[TensorType, ...]:
        return region_results(regions[0], operands)


@register
@dataclass(frozen=True, slots=True)
class Cond(RegionOp):
    """The outputs of the first module where `condition` holds, else of the second; both get the arguments.

    Shapes: condition is a bool of one element; both modules take the arguments' types and give equal types.
    Errors: E109 where a module takes other types, E110 where they give different ones. Source: ONNX If-21.
    """

    name = "cond"
    operands = ("condition", "arguments*")
    results = ("outputs*",)

    def infer_regions(
        self, regions: tuple[Module, ...], operands: Sequence[TensorType | None]
    ) -> tuple[TensorType, ...]:
        condition = operands[0]
        assert condition is not None
        check_dtype(self.name, "condition", condition.dtype, "bool")
        if any(size != 1 for size in condition.shape):
            raise refuse(self.name, f"condition is {condition}", "it is one truth value; rlx.where chooses by element")
        then, otherwise = (region_results(region, operands[1:]) for region in regions)
        if [(t.shape, t.dtype) for t in then] != [(t.shape, t.dtype) for t in otherwise]:
            given = " and ".join(f"({', '.join(map(str, types))})" for types in (then, otherwise))
            raise refuse(
                self.name,
                f"modules {regions[0].name!r} and {regions[1].name!r} give {given}",
                "both must give values of the same shapes and dtypes, in the same order",
            )
        return then
