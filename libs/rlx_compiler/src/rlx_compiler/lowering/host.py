"""Nodes that the host computes: what the plan says of them, between the kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rlx_base.dtypes import DType
from rlx_ir.module import Node
from rlx_ir.op import Op, attributes_of

__all__ = ["HostStep", "plain_attributes"]


@dataclass(frozen=True, slots=True)
class HostStep:
    """A node that the host computes; its operands and results by the names of the values that hold them."""

    node: Node
    operands: tuple[str | None, ...]

    @property
    def values(self) -> tuple[str, ...]:
        """What it touches."""
        return (*(name for name in self.operands if name is not None), *(r.name for r in self.node.results))


def plain_attributes(op: Op) -> dict[str, Any]:
    """Attributes as JSON has them."""

    def plain(value: Any) -> Any:
        if isinstance(value, tuple):
            return [plain(item) for item in value]
        return value.name if isinstance(value, DType) else value

    return {name: plain(value) for name, value in attributes_of(op).items()}
