"""`verify` re-checks a whole module: what the builder ensured step by step must still hold after every pass.

It raises the first `VerifyError` that it finds: E13x for a module that does not hold together, and what the ops and
the schedule checks raise.
"""

from __future__ import annotations

from collections.abc import Sequence

from rlx_base.errors import RlxError, VerifyError
from rlx_base.span import Span
from rlx_ir.builder import infer
from rlx_ir.module import Computed, Module, Node
from rlx_ir.op import Op, operand_names
from rlx_ir.regions import RegionOp
from rlx_ir.tiles import check_schedule
from rlx_ir.types import TensorType, Type

__all__ = ["check_operands", "verify"]


def verify(module: Module) -> None:
    """That every name is defined once and before its use, every type is what its op infers, schedules and layouts are
    legal, outputs exist, and the same of every module that it runs."""
    for one in module.modules():
        _verify_alone(one)


def _verify_alone(module: Module) -> None:
    types: dict[str, Type] = {}

    def define(name: str, type: Type, span: Span | None) -> None:
        if name in types:
            raise _broken(module, f"{name!r} is defined twice", span)
        if isinstance(type, TensorType):
            _check_type(module, name, type, span)
        types[name] = type

    for value in module.inputs:
        define(value.name, value.type, value.span)
    for constant in module.constants:
        define(constant.name, constant.type, constant.span)
        if isinstance(constant.data, Computed) and constant.data.elements.shape != constant.type.shape:
            shape = list(constant.data.elements.shape)
            raise _broken(module, f"constant {constant.name!r} is {constant.type} and holds {shape}", constant.span)
    for node in module.nodes:
        _verify_node(module, node, types)
        for result in node.results:
            define(result.name, result.type, result.span or node.span)
    seen: set[str] = set()
    for output in module.outputs:
        if output.value not in types:
            raise _broken(module, f"output {output.name!r} is {output.value!r}, which is not defined", module.span)
        if output.name in seen:
            raise VerifyError("E108", at=module.span, name=output.name)
        seen.add(output.name)


def _verify_node(module: Module, node: Node, types: dict[str, Type]) -> None:
    operands: list[TensorType | None] = []
    for name in node.operands:
        if name is None:
            operands.append(None)
            continue
        if name not in types:
            raise _broken(module, f"{node.op.name} uses {name!r} before it is defined", node.span)
        type = types[name]
        if not isinstance(type, TensorType):
            raise VerifyError("E107", at=node.span, name=name, type=type)
        operands.append(type)
    check_operands(node.op, operands, node.span)
    if isinstance(node.op, RegionOp) != bool(node.regions):
        raise _broken(module, f"{node.op.name} has {len(node.regions)} modules to run", node.span)
    try:
        inferred = infer(node.op, operands, node.regions)
    except RlxError as error:
        error.at = error.at or node.span
        raise
    if len(inferred) != len(node.results):
        raise VerifyError("E106", at=node.span, op=node.op.name, results=len(inferred), names=len(node.results))
    for result, type in zip(node.results, inferred, strict=True):
        if result.tensor.shape != type.shape or result.tensor.dtype != type.dtype:
            raise _broken(module, f"{result.name!r} is {result.type}, {node.op.name} gives {type}", node.span)
    check_schedule(node.op, operands, [result.tensor for result in node.results], node.schedule)


def check_operands(op: Op, operands: Sequence[TensorType | None], at: Span | None = None) -> None:
    """That an op has as many operands as it declares, and each that is not optional. Raises E111, E131."""
    variadic = bool(op.operands) and op.operands[-1].endswith("*")
    least = len(op.operands) - 1 if variadic else len(op.operands)
    if len(operands) < least or (not variadic and len(operands) > least):
        raise VerifyError("E131", at=at, op=op.name, given=len(operands), operands=", ".join(op.operands) or "none")
    optional = {name.rstrip("?") for name in op.operands if name.endswith("?")}
    for name, operand in zip(operand_names(op, len(operands)), operands, strict=True):
        if operand is None and name not in optional:
            raise VerifyError("E111", at=at, op=op.name, name=name)


def _check_type(module: Module, name: str, type: TensorType, span: Span | None) -> None:
    if any(isinstance(size, int) and size < 0 for size in type.shape):
        raise _broken(module, f"{name!r} is {type}, a size below 0", span)
    if type.layout is not None and len(type.layout.logical) != type.rank:
        raise VerifyError("E120", at=span, layout=type.layout.text, rank=type.rank)


def _broken(module: Module, what: str, at: Span | None) -> VerifyError:
    return VerifyError("E130", at=at, module=module.name, what=what)
