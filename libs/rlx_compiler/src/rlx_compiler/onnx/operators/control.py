"""If, Loop and Scan: put in place where their course is known, else modules of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import onnx

from rlx_compiler.onnx.graphs import Walk, translate_graph
from rlx_compiler.onnx.names import identifier
from rlx_compiler.onnx.operators.movement import whole
from rlx_compiler.onnx.registry import operator
from rlx_compiler.onnx.translation import Call, Scope, Translation, Unsupported, Value
from rlx_ir.builder import ModuleBuilder
from rlx_ir.module import Module
from rlx_ir.ops.control import Cond
from rlx_ir.ops.copying import Identity
from rlx_ir.ops.indexing import Gather
from rlx_ir.ops.permutation import Concat
from rlx_ir.ops.reshape import Unsqueeze

__all__: list[str] = []

MAX_UNROLLED: Final = 1024


@operator("If")
def if_(call: Call) -> Sequence[Value]:
    """A known condition chooses now; else both branches become modules that are given what they read from around.

    A branch that cannot be imported may be one that these shapes never take: then the condition has to be known.
    """
    condition = call[0]
    branches = [call.attribute("then_branch"), call.attribute("else_branch")]
    if condition.known is not None:
        chosen = branches[0] if bool(condition.known.item()) else branches[1]
        return translate_graph(call.walk, chosen, Scope({}, call.scope), call.opsets)
    captured = [name for name in _free(branches) if call.scope[name] is not None]
    arguments = {name: value for name in captured if (value := call.scope[name]) is not None and _is_argument(value)}
    regions = [_region(call, branch, arguments, place) for place, branch in enumerate(branches)]
    modules, counts = [module for module, _ in regions], [count for _, count in regions]
    if counts[0] != counts[1]:
        raise Unsupported("its branches give sequences of different lengths", condition.inputs)
    translation = call.translation
    operands = [translation.operand(value) for value in (condition, *arguments.values())]
    node = translation.builder.node(Cond(), *operands, regions=tuple(modules))
    inputs = condition.inputs.union(*(value.inputs for value in arguments.values()))
    made = iter([Value(result.tensor, result.name, None, inputs) for result in node.results])
    return [next(made) if count is None else Value.of_items([next(made) for _ in range(count)]) for count in counts[0]]


def _region(
    call: Call, graph: onnx.GraphProto, arguments: dict[str, Value], place: int
) -> tuple[Module, list[int | None]]:
    """A branch as a module of its own, and of which of its results are sequences of how many elements."""
    name = f"{identifier(call.proto.name or call.proto.output[0])}_{('then', 'otherwise')[place]}"
    builder = ModuleBuilder(name)
    translation = Translation(builder)
    scope = Scope({}, call.scope)
    for outer, value in arguments.items():
        made = builder.input(builder.fresh(identifier(outer)), value.type)
        scope.values[outer] = Value(value.type, made, None, value.inputs)
    walk = Walk(translation, call.walk.functions)
    try:
        results = translate_graph(walk, graph, scope, call.opsets)
    except Unsupported as found:
        raise Unsupported(found.why, found.needs | call[0].inputs) from None
    if any(value.empty for value in results):
        raise Unsupported("one of its branches gives nothing", call[0].inputs)
    flat = [item for value in results for item in (value.items if value.items is not None else (value,))]
    for order, value in enumerate(flat):
        builder.output(f"output{order}", builder.add(Identity(), translation.operand(value)))
    return builder.build(), [None if value.items is None else len(value.items) for value in results]


def _is_argument(value: Value) -> bool:
    """Whether a branch is given it as an operand: known values, sequences and nothing are read where they are."""
    return value.data is None and value.items is None and not value.empty


def _free(graphs: Sequence[onnx.GraphProto]) -> list[str]:
    """The names that graphs read and do not define, in the order of their use."""
    found: dict[str, None] = {}
    for graph in graphs:
        defined = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
        for node in graph.node:
            inner = [attribute.g for attribute in node.attribute if attribute.type == onnx.AttributeProto.GRAPH]
            for name in (*node.input, *_free(inner)):
                if name and name not in defined:
                    found[name] = None
            defined.update(node.output)
        for output in graph.output:
            if output.name not in defined:
                found[output.name] = None
    return list(found)


@operator("Loop")
def loop(call: Call) -> Sequence[Value]:
    """Unrolled: the number of rounds, and whether the loop goes on, have to be known."""
    body: onnx.GraphProto = call.attribute("body")
    trips = call.optional(0)
    most = MAX_UNROLLED if trips is None else int(call.known(0, "the number of rounds").item())
    going = True if call.optional(1) is None else bool(call.known(1, "the condition").item())
    state = [call[place] for place in range(2, len(call.operands))]
    scans: list[list[Value]] = [[] for _ in range(len(body.output) - 1 - len(state))]
    rounds = 0
    while going and rounds < most:
        if rounds >= MAX_UNROLLED:
            raise Unsupported(f"it runs more than {MAX_UNROLLED} rounds")
        given = [call.constant(np.int64(rounds)), call.constant(np.array(True)), *state]
        scope = Scope({info.name: value for info, value in zip(body.input, given, strict=True)}, call.scope)
        results = translate_graph(call.walk, body, scope, call.opsets)
        if results[0].known is None:
            raise Unsupported("whether it goes on is computed at run time", results[0].inputs)
        going = bool(results[0].known.item())
        state = results[1 : 1 + len(state)]
        for scanned, value in zip(scans, results[1 + len(state) :], strict=True):
            scanned.append(value)
        rounds += 1
    if scans and rounds == 0:
        raise Unsupported("it runs no round and its results have no shape")
    return [*state, *(_stacked(call, values, 0) for values in scans)]


def _stacked(call: Call, values: Sequence[Value], axis: int) -> Value:
    rows = [call.apply(Unsqueeze((axis,)), value) for value in values]
    return rows[0] if len(rows) == 1 else call.apply(Concat(axis), *rows)


@operator("Scan", since=9)
def scan(call: Call) -> Sequence[Value]:
    """Unrolled along the scanned axes, whose size has to be known."""
    body: onnx.GraphProto = call.attribute("body")
    count = call.attribute("num_scan_inputs")
    states = len(call.operands) - count
    axes = call.attribute("scan_input_axes", [0] * count)
    backwards = call.attribute("scan_input_directions", [0] * count)
    outputs = len(body.output) - states
    out_axes = call.attribute("scan_output_axes", [0] * outputs)
    out_backwards = call.attribute("scan_output_directions", [0] * outputs)
    scanned = [call[states + place] for place in range(count)]
    length = whole(scanned[0], axes[0])
    if length > MAX_UNROLLED or length == 0:
        raise Unsupported(f"it scans {length} places")
    state = [call[place] for place in range(states)]
    rows: list[list[Value]] = [[] for _ in range(outputs)]
    for step in range(length):
        at = [length - 1 - step if back else step for back in backwards]
        items = [
            call.apply(Gather(axis), value, call.constant(np.int64(place)))
            for value, axis, place in zip(scanned, axes, at, strict=True)
        ]
        given = {info.name: value for info, value in zip(body.input, [*state, *items], strict=True)}
        results = translate_graph(call.walk, body, Scope(dict(given), call.scope), call.opsets)
        state = results[:states]
        for row, value in zip(rows, results[states:], strict=True):
            row.append(value)
    ordered = [row[::-1] if back else row for row, back in zip(rows, out_backwards, strict=True)]
    return [*state, *(_stacked(call, row, axis) for row, axis in zip(ordered, out_axes, strict=True))]


@operator("Scan")
def scan_of_batch(call: Call) -> Sequence[Value]:
    """Opset 8: every operand and result has a leading batch dimension, scanned one by one."""
    body: onnx.GraphProto = call.attribute("body")
    count = call.attribute("num_scan_inputs")
    given = list(call.operands[1:])
    states = len(given) - count
    outputs = len(body.output) - states
    first = call[1]
    per_batch: list[list[Value]] = []
    for batch in range(whole(first, 0)):
        pick = call.constant(np.int64(batch))
        values = [call.apply(Gather(0), value, pick) for value in given]
        state, rows = values[:states], [[] for _ in range(outputs)]  # type: ignore[var-annotated]
        for step in range(whole(values[states], 0)):
            place = call.constant(np.int64(step))
            items = [call.apply(Gather(0), value, place) for value in values[states:]]
            named = {info.name: value for info, value in zip(body.input, [*state, *items], strict=True)}
            results = translate_graph(call.walk, body, Scope(dict(named), call.scope), call.opsets)
            state = results[:states]
            for row, value in zip(rows, results[states:], strict=True):
                row.append(value)
        per_batch.append([*state, *(_stacked(call, row, 0) for row in rows)])
    return [_stacked(call, list(values), 0) for values in zip(*per_batch, strict=True)]
