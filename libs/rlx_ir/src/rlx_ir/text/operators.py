"""Python's operators, methods and indexing, each standing for an op as it would in NumPy."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from rlx_base.errors import VerifyError
from rlx_ir.op import Op, make, nearest, operation
from rlx_ir.text.arguments import bind, keywords, positional
from rlx_ir.text.scope import Names, Scope, add_node, add_number, is_number
from rlx_ir.text.source import Source
from rlx_ir.types import TensorType

__all__ = ["apply_operator", "call_method"]

_BINARY: Final[dict[type[ast.operator], str]] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.MatMult: "matmul",
    ast.Pow: "pow",
    ast.Mod: "mod",
}
_COMPARISONS: Final[dict[type[ast.cmpop], str]] = {
    ast.Eq: "equal",
    ast.NotEq: "not_equal",
    ast.Lt: "less",
    ast.LtE: "less_or_equal",
    ast.Gt: "greater",
    ast.GtE: "greater_or_equal",
}
_REDUCTIONS: Final = {"sum": "reduce_sum", "mean": "reduce_mean", "max": "reduce_max", "min": "reduce_min"}
_METHODS: Final = ("reshape", "transpose", "astype", *_REDUCTIONS)
Cut: TypeAlias = tuple[int | None, int | None, int]  # start, end and step
_WHOLE: Final = ((None, None, 1), (0, None, 1))


def apply_operator(scope: Scope, node: ast.expr, names: Names) -> str:
    """`a + b`, `-a`, `abs(a)`, `a < b`, `a[0, 1:]`."""
    source = scope.source
    match node:
        case ast.BinOp(left=left, op=operator, right=right):
            if type(operator) not in _BINARY:
                raise source.error("E010", node, what="this operator", hint="")
            return _binary(scope, node, _BINARY[type(operator)], left, right, names)
        case ast.Compare(left=left, ops=[comparison], comparators=[right]):
            if type(comparison) not in _COMPARISONS:
                raise source.error("E010", node, what="this comparison", hint="")
            return _binary(scope, node, _COMPARISONS[type(comparison)], left, right, names)
        case ast.Compare():
            raise source.error("E010", node, what="a chain of comparisons", hint="; compare two values at a time")
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return add_node(scope, node, operation("neg")(), scope.value(operand), names=names).name
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return add_node(scope, node, operation("identity")(), scope.value(operand), names=names).name
        case ast.Call() as call:
            given = bind(source, call, "abs", ("x",), ("x",))
            return add_node(scope, node, operation("abs")(), scope.value(given["x"]), names=names).name
        case ast.Subscript(value=value, slice=index):
            return _index(scope, node, scope.value(value), index, names)
    raise source.error("E010", node, what="this operator", hint="")


def _binary(scope: Scope, node: ast.expr, name: str, left: ast.expr, right: ast.expr, names: Names) -> str:
    if is_number(left) and is_number(right):
        raise scope.source.expected(node, "a value", "a tensor; a number meets a tensor or stands alone")
    values = [None if is_number(operand) else scope.value(operand) for operand in (left, right)]
    dtype = next(_tensor(scope, node, value).dtype for value in values if value is not None)
    a, b = (
        add_number(scope, operand, dtype) if value is None else value
        for operand, value in zip((left, right), values, strict=True)
    )
    if name == "div" and dtype.is_integer:
        # NumPy would give floats, ONNX whole numbers: whoever writes this says which.
        raise VerifyError(
            "E110",
            at=scope.source.span(node),
            op="/",
            what=f"{_tensor(scope, node, a)} and {_tensor(scope, node, b)} are whole numbers",
            fix='rlx.div cuts the fraction off; .astype("float32") first keeps it',
        )
    return add_node(scope, node, operation(name)(), a, b, names=names).name


def _tensor(scope: Scope, node: ast.AST, value: str) -> TensorType:
    type = scope.builder.type_of(value)
    if not isinstance(type, TensorType):
        raise VerifyError("E107", at=scope.source.span(node), name=value, type=type)
    return type


def call_method(scope: Scope, call: ast.Call, method: str, names: Names) -> str:
    """`.reshape`, `.transpose`, `.astype`, `.sum`, `.mean`, `.max`, `.min`."""
    source = scope.source
    assert isinstance(call.func, ast.Attribute)
    if method not in _METHODS:
        raise source.error("E010", call.func, what=f"the method .{method}", hint=nearest(method, _METHODS))
    value = scope.value(call.func.value)
    type = _tensor(scope, call, value)
    kind, attributes = _method(source, call, method, type)
    return add_node(scope, call.func, _made(scope, call, kind, attributes), value, names=names).name


def _made(scope: Scope, at: ast.AST, kind: str, attributes: dict[str, Any]) -> Op:
    return make(operation(kind), attributes, scope.source.span(at))


def _method(source: Source, call: ast.Call, method: str, type: TensorType) -> tuple[str, dict[str, Any]]:
    """The op that a method stands for, and its attributes."""
    if method in _REDUCTIONS:
        given = bind(source, call, f".{method}", ("axis", "keepdims"))
        axes = source.plain(given["axis"], "axis") if "axis" in given else None
        keepdims = source.plain(given["keepdims"], "keepdims") if "keepdims" in given else False
        if axes is not None and not isinstance(axes, list):
            axes = [axes]
        return _REDUCTIONS[method], {"axes": axes, "keepdims": keepdims}
    if method == "astype":
        given = bind(source, call, ".astype", ("dtype",), ("dtype",))
        return "cast", {"to": source.dtype(given["dtype"])}
    if named := keywords(source, call):
        first = next(iter(named.values()))
        raise source.error("E016", first, call=f".{method}", name=first.arg, hint="", known="positional arguments")
    arguments: Sequence[ast.expr] = positional(source, call)
    if len(arguments) == 1 and isinstance(arguments[0], ast.List | ast.Tuple):
        arguments = arguments[0].elts
    numbers = [source.integer(argument, f"an argument of .{method}") for argument in arguments]
    if method == "reshape":
        return "reshape", {"shape": numbers}
    return "transpose", {"perm": numbers or list(range(type.rank))[::-1]}


def _index(scope: Scope, node: ast.Subscript, value: str, index: ast.expr, names: Names) -> str:
    """`x[0, 1:, None]` is a slice, then a squeeze of the numbered dimensions, then an unsqueeze of the new ones."""
    type = _tensor(scope, node, value)
    parts = _full(scope.source, node, index, type.rank)
    axes: list[int] = []
    slices: list[Cut] = []
    squeezed: list[int] = []
    unsqueezed: list[int] = []
    axis = place = 0
    for part in parts:
        if part is None:
            unsqueezed.append(place)
            place += 1
            continue
        if isinstance(part, ast.Slice):
            taken = _slice(scope.source, part)
            place += 1
        else:
            dim = type.shape[axis]
            taken = _single(scope.source, part, dim if isinstance(dim, int) else None)
            squeezed.append(axis)
        if taken not in _WHOLE:
            axes.append(axis)
            slices.append(taken)
        axis += 1
    steps: list[tuple[str, dict[str, Any]]] = []
    if axes:
        starts, ends, strides = (list(column) for column in zip(*slices, strict=True))
        steps.append(("slice", {"starts": starts, "ends": ends, "axes": axes, "steps": strides}))
    if squeezed:
        steps.append(("squeeze", {"axes": squeezed}))
    if unsqueezed:
        steps.append(("unsqueeze", {"axes": unsqueezed}))
    for kind, attributes in steps or [("identity", {})]:
        last = (steps and (kind, attributes) is steps[-1]) or not steps
        op = _made(scope, node, kind, attributes)
        value = add_node(scope, node, op, value, names=names if last else None).name
    return value


def _full(source: Source, node: ast.Subscript, index: ast.expr, rank: int) -> list[ast.expr | None]:
    """One part per dimension and per new one (None), the ellipsis filled in."""
    given = index.elts if isinstance(index, ast.Tuple) else [index]
    parts: list[ast.expr | None] = [None if _is(part, None) else part for part in given]
    whole = ast.copy_location(ast.Slice(), node)
    missing = rank - sum(part is not None and not _is(part, ...) for part in parts)
    dots = [place for place, part in enumerate(parts) if part is not None and _is(part, ...)]
    if missing < 0 or len(dots) > 1:
        raise source.error("E018", node, what="an index", expected=f"for {rank} dimensions", found=source.shown(index))
    place = dots[0] if dots else len(parts)
    return [*parts[:place], *[whole] * missing, *parts[place + len(dots) :]]


def _is(node: ast.expr, value: object) -> bool:
    return isinstance(node, ast.Constant) and node.value is value


def _single(source: Source, node: ast.expr, size: int | None) -> Cut:
    """One element along a dimension, as a slice."""
    at = source.integer(node, "an index")
    if size is not None and not -size <= at < size:
        raise source.error("E018", node, what="an index", expected=f"from {-size} to {size - 1}", found=at)
    return at, at + 1 if at != -1 else None, 1


def _slice(source: Source, node: ast.Slice) -> Cut:
    """Start, end and step as they are written; None for an open end."""

    def bound(part: ast.expr | None) -> int | None:
        return None if part is None or _is(part, None) else source.integer(part, "a bound of a slice")

    start, stop, step = bound(node.lower), bound(node.upper), bound(node.step)
    if step == 0:
        raise source.error("E018", node.step or node, what="a step", expected="not 0", found=0)
    return start, stop, 1 if step is None else step
