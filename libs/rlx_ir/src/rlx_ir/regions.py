"""Ops that run other modules: `call` (inlined by a pass) and `cond`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from rlx_base.errors import VerifyError
from rlx_ir.op import Op
from rlx_ir.types import TensorType

if TYPE_CHECKING:
    from rlx_ir.module import Module

__all__ = ["RegionOp"]


class RegionOp(Op):
    """An op whose meaning is in its regions. Subclasses say what the regions take and give, and which one runs."""

    splittable: ClassVar[bool] = False

    def infer_regions(
        self, regions: tuple[Module, ...], operands: Sequence[TensorType | None]
    ) -> tuple[TensorType, ...]:
        """The result types. Raises VerifyError where regions and operands do not fit."""
        raise NotImplementedError


def region_results(region: Module, operands: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """What a region gives for operands of these types. Raises E109 where it does not take them."""
    taken = [value.tensor for value in region.inputs]
    given = list(operands)
    fits = len(taken) == len(given) and all(
        b is not None and a.shape == b.shape and a.dtype == b.dtype for a, b in zip(taken, given, strict=False)
    )
    if not fits:
        raise VerifyError("E109", name=region.name, taken=", ".join(map(str, taken)), given=", ".join(map(str, given)))
    return tuple(region.tensor(output.value) for output in region.outputs)
