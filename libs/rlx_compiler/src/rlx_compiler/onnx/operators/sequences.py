"""Operators on sequences and optionals, which are known while the model is read: how many elements, and which.

Their elements are values like others, so nothing of them is left in the module but what is done with the elements.
A position that only the data says chooses between elements of one shape.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx

from rlx_base.dtypes import INT64
from rlx_compiler.onnx.graphs import translate_graph
from rlx_compiler.onnx.operators.movement import whole
from rlx_compiler.onnx.registry import operator
from rlx_compiler.onnx.translation import Call, Scope, Unsupported, Value
from rlx_ir.ops.arithmetic import Add
from rlx_ir.ops.comparison import Less
from rlx_ir.ops.copying import Where
from rlx_ir.ops.indexing import Gather
from rlx_ir.ops.permutation import Concat, Split
from rlx_ir.ops.reshape import Reshape, Squeeze, Unsqueeze

__all__: list[str] = []


@operator("SequenceConstruct")
def sequence_construct(call: Call) -> Value:
    return Value.of_items([call[place] for place in range(len(call.operands))])


@operator("SequenceEmpty")
def sequence_empty(call: Call) -> Value:
    return Value.of_items([])


@operator("SequenceLength")
def sequence_length(call: Call) -> Value:
    return call.constant(np.int64(len(call.sequence(0))))


def _alike(items: Sequence[Value], position: Value) -> None:
    """That elements can be chosen between at run time. Raises Unsupported where they differ in type."""
    if len({(item.type.shape, item.type.dtype) for item in items}) > 1 or any(item.items is not None for item in items):
        raise Unsupported("the position is not known, and the elements differ in shape", position.inputs)


def _place(call: Call, position: Value, count: int) -> Value:
    """A position at run time, from the front."""
    scalar = call.cast(call.apply(Reshape((), True), position), INT64)
    negative = call.apply(Less(), scalar, call.constant(np.int64(0)))
    return call.apply(Where(), negative, call.apply(Add(), scalar, call.constant(np.int64(count))), scalar)


@operator("SequenceAt")
def sequence_at(call: Call) -> Value:
    items, position = call.sequence(0), call[1]
    if position.known is not None:
        return items[int(position.known.item())]
    _alike(items, position)
    stacked = call.apply(Concat(0), *(call.apply(Unsqueeze((0,)), item) for item in items))
    return call.apply(Gather(0), stacked, call.apply(Reshape((), True), position))


@operator("SequenceInsert")
def sequence_insert(call: Call) -> Value:
    items, x, position = list(call.sequence(0)), call[1], call.optional(2)
    if position is None or position.known is not None:
        place = len(items) if position is None or position.known is None else int(position.known.item())
        items.insert(place if place >= 0 else place + len(items), x)
        return Value.of_items(items)
    _alike([*items, x], position)
    at = _place(call, position, len(items))
    found = []
    for place in range(len(items) + 1):
        here = call.constant(np.int64(place))
        y = x
        if place < len(items):
            y = call.apply(Where(), call.apply(Less(), here, at), items[place], y)
        if place:
            y = call.apply(Where(), call.apply(Less(), at, here), items[place - 1], y)
        found.append(y)
    return Value.of_items(found)


@operator("SequenceErase")
def sequence_erase(call: Call) -> Value:
    items, position = list(call.sequence(0)), call.optional(1)
    if position is None or position.known is not None:
        place = -1 if position is None or position.known is None else int(position.known.item())
        del items[place]
        return Value.of_items(items)
    _alike(items, position)
    at = _place(call, position, len(items))
    kept = []
    for place in range(len(items) - 1):
        before = call.apply(Less(), call.constant(np.int64(place)), at)
        kept.append(call.apply(Where(), before, items[place], items[place + 1]))
    return Value.of_items(kept)


@operator("ConcatFromSequence")
def concat_from_sequence(call: Call) -> Value:
    items, axis = call.sequence(0), call.attribute("axis")
    if call.attribute("new_axis", 0):
        rank = items[0].rank + 1
        items = tuple(call.apply(Unsqueeze((axis % rank,)), item) for item in items)
        axis %= rank
    return call.apply(Concat(axis), *items)


@operator("SplitToSequence")
def split_to_sequence(call: Call) -> Value:
    """By sizes, by one size for all, or one by one."""
    x, axis = call[0], call.attribute("axis", 0)
    size = whole(x, axis)
    if call.optional(1) is None:
        pieces = call.apply_all(Split(axis, (1,) * size), x)
        if not call.attribute("keepdims", 1):
            pieces = tuple(call.apply(Squeeze((axis,)), piece) for piece in pieces)
        return Value.of_items(pieces)
    asked = call.known(1, "how it is split")
    sizes = [int(part) for part in asked.reshape(-1)]
    if asked.ndim == 0:
        each = sizes[0]
        sizes = [each] * (size // each) + ([size % each] if size % each else [])
    return Value.of_items(call.apply_all(Split(axis, tuple(sizes)), x))


@operator("SequenceMap")
def sequence_map(call: Call) -> list[Value]:
    """The body for each element; a tensor beside the sequences is given to every round."""
    body: onnx.GraphProto = call.attribute("body")
    rounds = len(call.sequence(0))
    results: list[list[Value]] = [[] for _ in body.output]
    for place in range(rounds):
        given: dict[str, Value | None] = {}
        for info, operand in zip(body.input, call.operands, strict=True):
            given[info.name] = operand if operand is None or operand.items is None else operand.items[place]
        made = translate_graph(call.walk, body, Scope(given, call.scope), call.opsets)
        for row, value in zip(results, made, strict=True):
            row.append(value)
    return [Value.of_items(row) for row in results]


@operator("Optional")
def optional(call: Call) -> Value:
    return Value.nothing() if call.optional(0) is None else call[0]


@operator("OptionalGetElement")
def optional_get_element(call: Call) -> Value:
    if call[0].empty:
        raise Unsupported("an optional that holds nothing is asked for its value")
    return call[0]


@operator("OptionalHasElement")
def optional_has_element(call: Call) -> Value:
    value = call.optional(0)
    return call.constant(np.array(value is not None and not value.empty))
