"""The tensor expression of a node over the module's values, tidied: axes of one element gone, cheap stages inlined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from rlx_base.dtypes import INDEX
from rlx_compiler.lowering.substitute import count_nodes, inline, map_reads, reads, rebuild, reduces, replace_axes
from rlx_ir.expr import Axis, Expr, Read, Reduce, Tensor, children, literal, stages, walk
from rlx_ir.module import Module, Node
from rlx_ir.op import operand_names

__all__ = ["is_epilogue_of", "leaf", "node_stages"]

_CHEAP_NODES: Final = 16
_COSTLY: Final = frozenset(
    (
        *("exp", "log", "sqrt", "sin", "cos", "tanh", "erf", "pow", "div"),
        *("tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh"),
    )
)


def leaf(module: Module, name: str) -> Tensor:
    """A value as something to read."""
    type = module.tensor(name)
    return Tensor(name, type.shape, type.dtype)


def node_stages(module: Module, node: Node) -> list[Tensor]:
    """The stages of a node in order: each reads values of the module and stages before it, all under their own names.

    Those that give results have the results' names; those between them are called `result.stage`.
    """
    types = module.operand_types(node)
    names = operand_names(node.op, len(types))
    operands = [
        None if type is None else Tensor(f"%{name}", type.shape, type.dtype)
        for name, type in zip(names, types, strict=True)
    ]
    results = node.op.expression(*operands)
    known: dict[Tensor, Tensor] = {}
    for operand, value in zip(operands, node.operands, strict=True):
        if operand is not None and value is not None:
            known[operand] = leaf(module, value)
    named = {tensor: value.name for tensor, value in zip(results, node.results, strict=True)}
    ordered: list[Tensor] = []
    taken: set[str] = set()
    for place, tensor in enumerate(stages(results)):
        assert tensor.body is not None
        name = named.get(tensor, f"{node.name}.{tensor.name}")
        name = f"{name}_{place}" if name in taken else name
        taken.add(name)
        body = map_reads(_without_single(tensor.body, tensor.axes), partial(_moved, known=known))
        moved = Tensor(name, tensor.shape, tensor.dtype, tensor.axes, body)
        known[tensor] = moved
        ordered.append(moved)
    for tensor, result in zip(results, node.results, strict=True):
        if tensor.body is None:  # the op gives an operand on as it is
            source = known[tensor]
            axes = tuple(Axis(f"dim{i}", size) for i, size in enumerate(source.shape))
            body = _without_single(Read(source, axes), axes)
            ordered.append(Tensor(result.name, source.shape, source.dtype, axes, body))
    return _inlined(ordered, {value.name for value in node.results})


def _moved(read: Read, known: Mapping[Tensor, Tensor]) -> Read:
    return Read(known.get(read.tensor, read.tensor), read.indices)


def _without_single(expr: Expr, axes: Sequence[Axis]) -> Expr:
    """The expression with axes of one element replaced by 0, those that are summed too."""
    return _sums_without_single(replace_axes(expr, {axis: literal(0, INDEX) for axis in axes if axis.extent == 1}))


def _sums_without_single(expr: Expr) -> Expr:
    if not children(expr):
        return expr
    match rebuild(expr, _sums_without_single):
        case Reduce(kind, axes, body):
            kept = tuple(axis for axis in axes if axis.extent != 1)
            body = replace_axes(body, {axis: literal(0, INDEX) for axis in axes if axis.extent == 1})
            return Reduce(kind, kept, body) if kept else body
        case rebuilt:
            return rebuilt


def _inlined(ordered: list[Tensor], results: set[str]) -> list[Tensor]:
    """Stages that are cheap, or that one other stage reads place by place, become part of what reads them."""
    place = 0
    while place < len(ordered):
        tensor = ordered[place]
        readers = [i for i in range(place + 1, len(ordered)) if tensor in [r.tensor for r in _reads_of(ordered[i])]]
        if tensor.name in results or not readers or not _may_inline(tensor, [ordered[i] for i in readers]):
            place += 1
            continue
        replaced = {tensor: tensor}
        rest: list[Tensor] = []
        for later in ordered[place + 1 :]:
            assert later.body is not None
            body = map_reads(later.body, partial(_moved, known=replaced))
            if any(read.tensor == tensor for read in reads(body)):
                body = inline(body, tensor)
            changed = Tensor(later.name, later.shape, later.dtype, later.axes, body)
            replaced[later] = changed
            rest.append(changed)
        ordered = [*ordered[:place], *rest]
    return ordered


def _reads_of(tensor: Tensor) -> list[Read]:
    return [] if tensor.body is None else list(reads(tensor.body))


def _may_inline(tensor: Tensor, readers: Sequence[Tensor]) -> bool:
    assert tensor.body is not None
    uses = [read for reader in readers for read in _reads_of(reader) if read.tensor == tensor]
    if reduces(tensor.body):
        return len(readers) == 1 and is_epilogue_of(readers[0], tensor)
    costly = any(getattr(part, "function", None) in _COSTLY for part in walk(tensor.body))
    return len(uses) == 1 or (not costly and count_nodes(tensor.body) <= _CHEAP_NODES)


def is_epilogue_of(reader: Tensor, tensor: Tensor) -> bool:
    """Whether `reader` uses each element of `tensor` exactly once, at its own place, outside of any reduction."""
    body = reader.body
    if body is None or any(read.tensor.name == tensor.name for r in reduces(body) for read in reads(r.body)):
        return False
    uses = {read for read in reads(body) if read.tensor.name == tensor.name}
    if len(uses) != 1:
        return False
    (use,) = uses
    used = [index for index in use.indices if isinstance(index, Axis)]
    whole = [size for size in tensor.shape if size != 1]
    own = [axis for axis in reader.axes if axis.extent != 1]
    return len(set(used)) == len(used) == len(whole) and set(used) == set(own) and [a.extent for a in used] == whole
