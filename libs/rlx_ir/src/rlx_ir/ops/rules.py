"""The typing rules that ops share: equal dtypes, kinds of dtypes, broadcasting, axes counted from the end.

Every check raises `VerifyError` E110 with what is wrong (shapes and dtypes in it) and what to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from rlx_base.dtypes import FLOAT32, DType
from rlx_base.errors import VerifyError
from rlx_ir.dims import Dim, Shape
from rlx_ir.types import TensorType

__all__ = [
    "Kinds",
    "accumulator",
    "broadcast",
    "check_dtype",
    "check_equal_dtypes",
    "check_rank",
    "inherit",
    "position",
    "positions",
    "refuse",
]

# Which element types an op takes.
Kinds = Literal["any", "number", "signed", "float", "integer", "bool"]

_TAKEN: Final[dict[str, frozenset[str]]] = {
    "any": frozenset(("float", "int", "uint", "bool")),
    "number": frozenset(("float", "int", "uint")),
    "signed": frozenset(("float", "int")),
    "float": frozenset(("float",)),
    "integer": frozenset(("int", "uint")),
    "bool": frozenset(("bool",)),
}
_CALLED: Final = {"any": "values", "number": "numbers", "signed": "signed numbers", "float": "floats"} | {
    "integer": "integers",
    "bool": "truth values",
}


def refuse(op: str, what: str, fix: str) -> VerifyError:
    """The error that an op raises where its operands or attributes do not fit."""
    return VerifyError("E110", op=op, what=what, fix=fix)


def check_dtype(op: str, name: str, dtype: DType, kinds: Kinds) -> None:
    """That the op takes elements of this type."""
    if dtype.kind not in _TAKEN[kinds]:
        target = "bool" if kinds == "bool" else "int64" if kinds == "integer" else "float32"
        raise refuse(op, f"{name} is {dtype}, where {_CALLED[kinds]} are needed", f'rlx.cast({name}, to="{target}")')


def check_equal_dtypes(op: str, names: Sequence[str], types: Sequence[TensorType]) -> None:
    """That all operands have one dtype: RLX never converts by itself."""
    for name, type in zip(names[1:], types[1:], strict=True):
        if type.dtype != types[0].dtype:
            raise refuse(
                op,
                f"{names[0]} is {types[0].dtype} and {name} is {type.dtype}",
                f'make them equal, as in rlx.cast({name}, to="{types[0].dtype}")',
            )


def check_rank(op: str, name: str, type: TensorType, rank: int, order: str) -> None:
    """That a tensor has this many dimensions; `order` names them for the reader."""
    if type.rank != rank:
        raise refuse(
            op,
            f"{name} has {type.rank} dimensions ({type}), where {rank} are needed ({order})",
            "rlx.reshape or rlx.unsqueeze gives it that rank",
        )


def broadcast(op: str, names: Sequence[str], types: Sequence[TensorType]) -> Shape:
    """NumPy's broadcast shape: aligned at the right, a dimension of 1 repeats. A symbol fits itself and 1 only."""
    rank = max(type.rank for type in types)
    shape: list[Dim] = []
    for place in range(rank):
        found: Dim = 1
        source = names[0]
        for name, type in zip(names, types, strict=True):
            offset = place - (rank - type.rank)
            if offset < 0 or type.shape[offset] == 1:
                continue
            size = type.shape[offset]
            if found != 1 and size != found:
                listed = " and ".join(f"{n} {t}" for n, t in zip(names, types, strict=True))
                raise refuse(
                    op,
                    f"{listed} do not broadcast: {source} has {found} where {name} has {size}",
                    "aligned at the right, each must be equal or 1; rlx.reshape, rlx.transpose or rlx.expand helps",
                )
            found, source = size, name
        shape.append(found)
    return tuple(shape)


def position(op: str, axis: int, rank: int) -> int:
    """The axis counted from the front; −1 is the last."""
    if not -rank <= axis < rank:
        raise refuse(op, f"axis {axis} of a tensor with {rank} dimensions", f"axes run from {-rank} to {rank - 1}")
    return axis % rank


def positions(op: str, axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """Several axes counted from the front, in the order given, each once."""
    found = tuple(position(op, axis, rank) for axis in axes)
    if len(set(found)) != len(found):
        raise refuse(op, f"axes {list(axes)} name a dimension twice", "name each axis once")
    return found


def inherit(first: TensorType, shape: Shape, dtype: DType | None = None) -> TensorType:
    """A result's type: the layout of the first data operand where the rank is kept; where it lives, a target says."""
    layout = first.layout if len(shape) == first.rank else None
    return TensorType(shape, first.dtype if dtype is None else dtype, layout)


def accumulator(dtype: DType) -> DType:
    """The type in which long sums of `dtype` are formed: 16-bit and 8-bit floats would lose their terms."""
    return FLOAT32 if dtype.is_float and dtype.bits < 32 else dtype
