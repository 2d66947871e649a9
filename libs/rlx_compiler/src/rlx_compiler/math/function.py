"""Functions of scalars that need loops or many words, so that they are called and not expanded in place."""

from __future__ import annotations

from dataclasses import dataclass

from rlx_base.dtypes import DType
from rlx_compiler.loops.ir import Body, Expr, Var

__all__ = ["Call", "Function"]


@dataclass(frozen=True, slots=True)
class Function:
    """A pure function: the value of `result` after `body`. Functions of one name are equal."""

    name: str
    params: tuple[Var, ...]
    body: Body
    result: Expr


@dataclass(frozen=True, slots=True)
class Call(Expr):
    """A function applied in every lane. Like a load, it is evaluated only on the chosen side of a lazy select."""

    function: Function
    arguments: tuple[Expr, ...]

    @property
    def dtype(self) -> DType:  # type: ignore[override]
        return self.function.result.dtype

    @property
    def lanes(self) -> int:  # type: ignore[override]
        return self.arguments[0].lanes
