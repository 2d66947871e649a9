"""A case: one op with attributes and the arrays that it is given; and the strategies by op name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from hypothesis import strategies as st

import rlx_ir.ops  # noqa: F401  registers them
from rlx_base.dtypes import DType, of_numpy
from rlx_ir.builder import ModuleBuilder
from rlx_ir.elements import reference
from rlx_ir.module import Module
from rlx_ir.op import Array, Op, operand_names
from rlx_ir.types import TensorType

__all__ = ["Case", "Dtypes", "Strategy", "cases", "covered_ops", "strategy_for"]


@dataclass(frozen=True)
class Case:
    """An op and its operands; None for an absent one."""

    op: Op
    arrays: tuple[Array | None, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The operands' names, absent ones too."""
        return tuple(operand_names(self.op, len(self.arrays)))

    @property
    def types(self) -> tuple[TensorType | None, ...]:
        return tuple(None if a is None else TensorType(a.shape, of_numpy(a.dtype)) for a in self.arrays)

    @property
    def inputs(self) -> dict[str, Array]:
        """The operands that are given, by name."""
        return {name: array for name, array in zip(self.names, self.arrays, strict=True) if array is not None}

    def expected(self) -> tuple[Array, ...]:
        """What the reference gives."""
        with np.errstate(all="ignore"):
            return reference(self.op, self.arrays, self.op.infer(*self.types))

    def module(self, name: str = "case") -> Module:
        """A module of this op alone: its inputs have the operands' names, its outputs those of the op's results."""
        build = ModuleBuilder(name)
        given = [
            None if type is None else build.input(operand, type)
            for operand, type in zip(self.names, self.types, strict=True)
        ]
        node = build.node(self.op, *given)
        single = len(node.results) == 1
        for place, result in enumerate(node.results):
            build.output("output" if single else f"output_{place}", result.name)
        return build.build()


# The dtypes that a test wants; a strategy takes those that the op takes too.
Dtypes: TypeAlias = Sequence[DType]
Strategy: TypeAlias = Callable[[Dtypes], st.SearchStrategy[Case]]

_STRATEGIES: Final[dict[str, Strategy]] = {}


def strategy_for(*names: str) -> Callable[[Callable[[str], Strategy]], Callable[[str], Strategy]]:
    """Marks a function from an op's name to its strategy."""

    def mark(make: Callable[[str], Strategy]) -> Callable[[str], Strategy]:
        for name in names:
            assert name not in _STRATEGIES, f"two strategies for {name}"
            _STRATEGIES[name] = make(name)
        return make

    return mark


def cases(name: str, dtypes: Dtypes | None = None) -> st.SearchStrategy[Case]:
    """Cases of the op of this name, with operands of some of these dtypes; by default of all but float16."""
    from rlx_ir.testing.tensors import DEFAULT_DTYPES

    return _STRATEGIES[name](DEFAULT_DTYPES if dtypes is None else dtypes)


def covered_ops() -> tuple[str, ...]:
    """The ops that have a strategy, by name."""
    return tuple(sorted(_STRATEGIES))
