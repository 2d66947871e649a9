"""The types of values: a tensor is shape + dtype + layout + memory affinity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from rlx_base.dtypes import DType
from rlx_ir.affinity import MemoryAffinity
from rlx_ir.dims import Dim, Shape, bind
from rlx_ir.layout import Layout

__all__ = ["OptionalType", "SequenceType", "TensorType", "Type"]


@dataclass(frozen=True, slots=True)
class TensorType:
    """`shape` is logical. `layout` None is the logical order; `affinity` None is unspecified: targets fill it in."""

    shape: Shape
    dtype: DType
    layout: Layout | None = None
    affinity: MemoryAffinity | None = None

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def stored_shape(self) -> Shape:
        """The shape in memory."""
        return self.layout.stored_shape(self.shape) if self.layout is not None else self.shape

    def with_shape(self, shape: Shape) -> TensorType:
        """The same dtype in another shape; the layout is kept where the rank is."""
        return replace(self, shape=shape, layout=self.layout if len(shape) == self.rank else None)

    def bind(self, values: Mapping[str, int]) -> TensorType:
        """The type with symbolic dimensions replaced."""
        return replace(self, shape=tuple(bind(dim, values) for dim in self.shape))

    def __str__(self) -> str:
        dims: tuple[Dim, ...] = self.shape
        return f"{self.dtype}[{', '.join(str(dim) for dim in dims)}]"


@dataclass(frozen=True, slots=True)
class SequenceType:
    """A list of values of one type; its length is known at run time."""

    element: TensorType

    def __str__(self) -> str:
        return f"sequence({self.element})"


@dataclass(frozen=True, slots=True)
class OptionalType:
    """A value that may be absent."""

    element: TensorType | SequenceType

    def __str__(self) -> str:
        return f"optional({self.element})"


Type: TypeAlias = TensorType | SequenceType | OptionalType
