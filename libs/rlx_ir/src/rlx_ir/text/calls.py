"""Calls of ops (`rlx.relu(x)`), of modules of the same file (`block(x)`), and of ops that run modules (`rlx.cond`)."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Sequence
from typing import Final

from rlx_base.dtypes import DType
from rlx_base.errors import VerifyError
from rlx_ir.builder import infer
from rlx_ir.op import OPS, Op, make, nearest, operation
from rlx_ir.regions import RegionOp
from rlx_ir.text.arguments import bind, keywords, positional
from rlx_ir.text.schedules import SCHEDULE, read_schedule
from rlx_ir.text.scope import Names, Scope, add_node, add_number, literal_operand
from rlx_ir.text.types import STORAGE, is_none, read_affinity, read_layout
from rlx_ir.types import TensorType

__all__ = ["LATER", "call_module", "call_op"]

# What the language defines and this version does not run: said so, never silently taken for something else.
LATER: Final = frozenset(
    (
        "loop",
        "scan",
        "state",
        "kv_cache",
        "attention",
        "rotary_embedding",
        "sequence",
        "optional",
        "string",
        "parallelize",
        "pipeline",
        "stage_boundary",
        "distributed_pipeline",
        "speculate",
        "jit",
        "remote_call",
        "custom_op",
    )
)


def call_op(scope: Scope, call: ast.Call, name: str, names: Names) -> tuple[str, ...]:
    """`rlx.NAME(…)`: operands by position or name, then attributes, schedule and storage by name."""
    source = scope.source
    if name == "constant":
        constant = scope.constants.read(call, names[0] if names else scope.builder.fresh("constant"))
        return (scope.builder.constant(constant),)
    if name == "cond":
        return _call_cond(scope, call, names)
    if name in ("tensor", "scalar"):
        raise source.error(
            "E010",
            call,
            what=f"`rlx.{name}` inside an expression",
            hint=": it declares an input, as in x = rlx.tensor(…)",
        )
    if name == "module":
        raise source.error("E010", call, what="`rlx.module` in a module", hint="")
    if name not in OPS and name in LATER:
        raise source.error("E011", call.func, what=f"`rlx.{name}`")
    kind = operation(name, source.span(call.func))
    if issubclass(kind, RegionOp):
        raise source.error("E010", call.func, what=f"`rlx.{name}`", hint="; call a module of this file by its name")
    operands, given = _operands(scope, call, kind)
    attributes = {key: value for key, value in given.items() if key in _attributes(kind)}
    op = _make(scope, call, kind, attributes)
    types = [None if operand is None else scope.builder.type_of(operand) for operand in operands]
    tensors = [type if isinstance(type, TensorType) else None for type in types]
    schedule_arguments = {key: value for key, value in given.items() if key in SCHEDULE and key not in attributes}
    storage = {key: value for key, value in given.items() if key in STORAGE and key not in attributes}
    if not schedule_arguments and not storage:
        node = add_node(scope, call.func, op, *operands, names=names)
        return tuple(result.name for result in node.results)
    try:
        results = infer(op, tensors, ())
    except VerifyError as error:
        error.at = error.at or source.span(call.func)
        raise
    declared = None
    if storage:
        if len(results) != 1:
            first = next(iter(storage.values()))
            raise source.error(
                "E018",
                first,
                what="layout or memory",
                expected="for an op with one result",
                found=f"given to {op.name}",
            )
        declared = results[0]
        if "layout" in storage:
            declared = dataclasses.replace(declared, layout=read_layout(source, storage, declared.rank))
        if "memory_affinity" in storage or "location" in storage:
            declared = dataclasses.replace(declared, affinity=read_affinity(source, storage))
        results = (declared,)
    schedule = read_schedule(source, op, schedule_arguments, tensors, results)
    node = add_node(scope, call.func, op, *operands, names=names, schedule=schedule, type=declared)
    return tuple(result.name for result in node.results)


def _attributes(kind: type[Op]) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind))  # type: ignore[arg-type]


def _operands(scope: Scope, call: ast.Call, kind: type[Op]) -> tuple[list[str | None], dict[str, ast.expr]]:
    """The operands' values in order, and the arguments that are no operands."""
    source = scope.source
    declared = [name.rstrip("?*") for name in kind.operands]
    variadic = declared[-1] if kind.operands and kind.operands[-1].endswith("*") else None
    attributes = _attributes(kind)
    nodes: dict[str, Sequence[ast.expr]] = {}
    for place, argument in enumerate(positional(source, call)):
        if variadic is not None and place >= len(declared) - 1:
            nodes[variadic] = (*nodes.get(variadic, ()), argument)
        elif place < len(declared):
            nodes[declared[place]] = (argument,)
        else:
            what = f"takes {len(declared)} operands, {source.shown(argument)} is one more"
            raise VerifyError("E112", at=source.span(argument), op=kind.name, what=what, known=", ".join(declared))
    rest: dict[str, ast.expr] = {}
    known = (*declared, *attributes, *SCHEDULE, *STORAGE)
    for name, keyword in keywords(source, call).items():
        if name in declared:
            if name in nodes:
                raise VerifyError(
                    "E112",
                    at=source.span(keyword),
                    op=kind.name,
                    what=f"operand {name!r} is given twice",
                    known=", ".join(declared),
                )
            nodes[name] = (keyword.value,)
        elif name in known:
            rest[name] = keyword.value
        else:
            raise VerifyError("E102", at=source.span(keyword), op=kind.name, name=name, hint=nearest(name, known))
    if variadic in nodes and len(nodes[variadic]) == 1:
        (only,) = nodes[variadic]
        if isinstance(only, ast.List | ast.Tuple) and not (only.elts and literal_operand(only)):
            nodes[variadic] = only.elts
    return _values(scope, call, kind, nodes), rest


def _values(scope: Scope, call: ast.Call, kind: type[Op], nodes: dict[str, Sequence[ast.expr]]) -> list[str | None]:
    """The operands evaluated in order; numbers last, since they take the dtype of the tensors beside them."""
    slots: list[ast.expr | None] = []
    for name in kind.operands:
        given = nodes.get(name.rstrip("?*"), ())
        if name.endswith("*") or (given and not is_none(given[0])):
            slots += given
        elif name.endswith("?"):
            slots.append(None)
        else:
            raise VerifyError("E111", at=scope.source.span(call.func), op=kind.name, name=name)
    values = {
        place: scope.value(node) for place, node in enumerate(slots) if node is not None and not literal_operand(node)
    }
    dtype = _met(scope, list(values.values()))
    for place, node in enumerate(slots):
        if node is not None and place not in values:
            values[place] = add_number(scope, node, dtype)
    return [values.get(place) for place in range(len(slots))]


def _met(scope: Scope, values: Sequence[str]) -> DType | None:
    """The dtype that plain numbers beside these values take: that of the first that is no truth value."""
    types = [type for value in values if isinstance(type := scope.builder.type_of(value), TensorType)]
    numbers = [type.dtype for type in types if type.dtype.kind != "bool"]
    return numbers[0] if numbers else types[0].dtype if types else None


def _make(scope: Scope, call: ast.Call, kind: type[Op], attributes: dict[str, ast.expr]) -> Op:
    """The op with its attributes; a wrong one is shown where it stands."""
    values = {name: scope.source.plain(node, f"attribute {name}") for name, node in attributes.items()}
    try:
        return make(kind, values)
    except VerifyError as error:
        node = attributes.get(str(error.fields.get("name")), call.func)
        error.at = error.at or scope.source.span(node)
        raise


def call_module(scope: Scope, call: ast.Call, name: ast.Name, names: Names) -> tuple[str, ...]:
    """`block(x)`: inputs by position or name, all of them."""
    source, module = scope.source, scope.module(name)
    inputs = [value.name for value in module.inputs]
    given = bind(source, call, name.id, inputs, inputs)
    operands = [_argument(scope, given[value.name], value.tensor) for value in module.inputs]
    node = add_node(scope, call.func, operation("call")(), *operands, names=names, regions=(module,))
    return tuple(result.name for result in node.results)


def _call_cond(scope: Scope, call: ast.Call, names: Names) -> tuple[str, ...]:
    """`rlx.cond(pred, then_module, else_module, args=[…])`."""
    source = scope.source
    given = bind(
        source, call, "rlx.cond", ("pred", "then_module", "else_module", "args"), ("pred", "then_module", "else_module")
    )
    regions = tuple(scope.module(given[part]) for part in ("then_module", "else_module"))
    predicate = scope.value(given["pred"])
    arguments = source.items(given["args"], "args") if "args" in given else []
    taken = [value.tensor for value in regions[0].inputs]
    operands = [
        _argument(scope, node, taken[place] if place < len(taken) else None) for place, node in enumerate(arguments)
    ]
    node = add_node(scope, call.func, operation("cond")(), predicate, *operands, names=names, regions=regions)
    return tuple(result.name for result in node.results)


def _argument(scope: Scope, node: ast.expr, type: TensorType | None) -> str:
    if literal_operand(node):
        return add_number(scope, node, None if type is None else type.dtype)
    return scope.value(node)
