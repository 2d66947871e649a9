"""Specialise: symbolic dimensions become numbers."""

from __future__ import annotations

from dataclasses import dataclass

from rlx_ir.module import Module
from rlx_ir.passes.base import Pass
from rlx_ir.specialise import specialise

__all__ = ["Specialise"]


@dataclass(frozen=True)
class Specialise(Pass):
    """The module for given values of its symbolic dimensions, with all types inferred anew.

    Holds for inputs of those sizes only.
    """

    name = "specialise"

    dims: tuple[tuple[str, int], ...]

    def apply(self, module: Module) -> Module:
        return specialise(module, dict(self.dims))
