"""What an algorithm offers in place of one generic kernel: kernels in order, and the values and constants they need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from numpy.typing import NDArray

from rlx_compiler.lowering.kernels import Lowered
from rlx_ir.expr import Tensor

__all__ = ["Alternative", "Offer"]


@dataclass(frozen=True, slots=True, eq=False)
class Alternative:
    """`kernels` by the end of their launch's name (the last one is ""); `values` live between them, in logical order;
    `reasons` say to people what was done."""

    kernels: tuple[tuple[str, Lowered], ...]
    values: tuple[Tensor, ...] = ()
    constants: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()


class Offer(Protocol):
    """An algorithm that fits a convolution: what it would cost, before anything is built."""

    @property
    def algorithm(self) -> str:
        """Its name in the table and in the report."""

    @property
    def cycles(self) -> float:
        """What the cost model expects."""

    def built(self) -> Alternative:
        """Its kernels. Raises NotVectorisable where the epilogue does not fit them."""
