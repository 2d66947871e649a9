"""The canonical text of a module: `parse(print_module(m)) == m`, and printing what was parsed changes nothing more.

The entry stands first and the modules that it calls after it, inputs stand first in a module and each constant before
its first use. What is a default is left out. A line that is too long has one argument per line.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator, Sequence
from dataclasses import MISSING, fields
from typing import Any, Final

from rlx_base.dtypes import DType
from rlx_base.errors import VerifyError
from rlx_ir.builder import infer
from rlx_ir.dims import Symbol
from rlx_ir.module import Constant, Module, Node, Value
from rlx_ir.op import Op
from rlx_ir.regions import RegionOp
from rlx_ir.schedule import Schedule
from rlx_ir.text.print_constants import constant_arguments
from rlx_ir.text.print_values import Arguments, Group, Written, call, mapping, number, quoted, render, sequence
from rlx_ir.types import TensorType, Type

__all__ = ["print_file", "print_module"]

_NAME: Final = re.compile(r"(?!__)[A-Za-z_][A-Za-z0-9_]{0,127}")


def print_module(module: Module) -> str:
    """The text of a module and of all that it calls."""
    called = [other for other in module.modules() if other is not module]
    return print_file((module, *called))


def print_file(modules: Sequence[Module]) -> str:
    """The text of several modules, in this order; those that they call have to be among them."""
    return "\n\n".join(_function(module) for module in modules)


def _function(module: Module) -> str:
    lines = ["@rlx.module", f"def {_name(module.name)}():"]
    lines += [f"    {render(statement, 4)}" for statement in _statements(module)]
    return "\n".join(lines) + "\n"


def _statements(module: Module) -> Iterator[Written]:
    for value in module.inputs:
        yield _input(value)
    waiting = list(module.constants)
    place = {constant.name: index for index, constant in enumerate(module.constants)}
    printed = 0
    for node in module.nodes:
        # Constants keep their order; each comes as late as its first use, or that of a later one, allows.
        needed = max((place[name] + 1 for name in node.operands if name in place), default=0)
        for constant in waiting[printed:needed]:
            yield _constant(module, constant)
        printed = max(printed, needed)
        yield _node(module, node)
    for constant in waiting[printed:]:
        yield _constant(module, constant)
    yield _return(module)


def _name(name: str) -> str:
    """A name that the text can hold. Raises E007 for one that a program made and no text could."""
    if _NAME.fullmatch(name) is None or keyword.iskeyword(name) or name in ("rlx", "np"):
        raise VerifyError("E124", name=name)
    return name


def _shape(type: TensorType) -> Written:
    def dim(size: Any) -> str:
        if isinstance(size, Symbol):
            return quoted(size.name)
        if not isinstance(size, int):
            raise VerifyError("E124", name=str(size))
        return str(size)

    return sequence([dim(size) for size in type.shape])


def _storage(type: TensorType, inferred: TensorType | None = None) -> Arguments:
    """Layout and affinity, where they are not those that follow anyway."""
    arguments: Arguments = []
    base = inferred if inferred is not None else TensorType(type.shape, type.dtype)
    if type.layout != base.layout:
        arguments.append(("layout", "None" if type.layout is None else quoted(type.layout.text)))
    if type.affinity != base.affinity:
        written: Written = "None" if type.affinity is None else mapping(_quoted_values(type.affinity.fields()))
        arguments.append(("memory_affinity", written))
    return arguments


def _quoted_values(fields: dict[str, str]) -> Arguments:
    return [(key, quoted(value)) for key, value in fields.items()]


def _input(value: Value) -> Written:
    type = _tensor(value.name, value.type)
    dtype = ("dtype", quoted(type.dtype.name))
    if type.shape:
        return call([_name(value.name)], "rlx.tensor", [("shape", _shape(type)), dtype, *_storage(type)])
    return call([_name(value.name)], "rlx.scalar", [dtype, *_storage(type)])


def _tensor(name: str, type: Type) -> TensorType:
    if not isinstance(type, TensorType):
        raise VerifyError("E107", name=name, type=type)
    return type


def _constant(module: Module, constant: Constant) -> Written:
    arguments = constant_arguments(module.name, constant)
    return call([_name(constant.name)], "rlx.constant", [*arguments, *_storage(constant.type)])


def _node(module: Module, node: Node) -> Written:
    results = [_name(result.name) for result in node.results]
    if isinstance(node.op, RegionOp):
        return call(results, *_region_call(node))
    arguments = [*_operands(node), *_attributes(node.op)]
    types = module.operand_types(node)
    if len(node.results) == 1:
        (inferred,) = infer(node.op, types, node.regions)
        arguments += _storage(_tensor(node.name, node.results[0].type), inferred)
    arguments += _schedule(node.schedule)
    return call(results, f"rlx.{node.op.name}", arguments)


def _region_call(node: Node) -> tuple[str, Arguments]:
    """A module called by its name, or an op that is given modules."""
    names = [name for name in node.operands if name is not None]
    if node.op.name == "call":
        return _name(node.regions[0].name), [("", name) for name in names]
    arguments: Arguments = [("", names[0]), *(("", _name(region.name)) for region in node.regions)]
    if names[1:]:
        arguments.append(("args", sequence(names[1:])))
    return f"rlx.{node.op.name}", arguments


def _operands(node: Node) -> Arguments:
    """Required operands by position, optional ones by name, a variable number as a list."""
    arguments: Arguments = []
    names = list(node.operands)
    for declared in node.op.operands:
        if declared.endswith("*"):
            arguments.append(("", sequence([str(name) for name in names])))
            names = []
            continue
        name = names.pop(0) if names else None
        if declared.endswith("?"):
            if name is not None:
                arguments.append((declared[:-1], name))
        else:
            arguments.append(("", str(name)))
    return arguments


def _attributes(op: Op) -> Arguments:
    """The attributes that are not their defaults."""
    arguments: Arguments = []
    for field in fields(op):  # type: ignore[arg-type]
        value = getattr(op, field.name)
        default = field.default_factory() if field.default_factory is not MISSING else field.default
        if not _same(value, default):
            arguments.append((field.name, _attribute(value)))
    return arguments


def _same(a: Any, b: Any) -> bool:
    """Equal, and of one type: 1, 1.0 and True are different attributes."""
    if isinstance(a, float) and isinstance(b, float):
        return repr(a) == repr(b)
    return type(a) is type(b) and bool(a == b)


def _attribute(value: Any) -> Written:
    if isinstance(value, tuple):
        return sequence([_attribute(item) for item in value])
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, DType):
        return quoted(value.name)
    return number(value)


def _schedule(schedule: Schedule) -> Arguments:
    arguments: Arguments = []
    if schedule.tile_layout:
        tiles: Arguments = [
            (tile.operand, mapping([(axis, str(size)) for axis, size in tile.sizes])) for tile in schedule.tile_layout
        ]
        arguments.append(("tile_layout", mapping(tiles)))
    compute = schedule.compute_schedule
    if compute is not None:
        parts: Arguments = []
        if compute.parallel_dims:
            parts.append(("parallel_dims", sequence([quoted(dim) for dim in compute.parallel_dims])))
        if compute.vectorize_dim is not None:
            parts.append(("vectorize_dim", quoted(compute.vectorize_dim)))
        if compute.unroll:
            parts.append(("unroll", mapping([(dim, str(count)) for dim, count in compute.unroll])))
        if compute.order:
            parts.append(("order", sequence([quoted(dim) for dim in compute.order])))
        if compute.pipeline_depth is not None:
            parts.append(("pipeline_depth", str(compute.pipeline_depth)))
        arguments.append(("compute_schedule", mapping(parts)))
    coalesce = schedule.memory_coalesce
    if coalesce is not None:
        parts = [("width", str(coalesce.width))]
        if coalesce.dim is not None:
            parts.append(("dim", quoted(coalesce.dim)))
        arguments.append(("memory_coalesce", mapping(parts)))
    return arguments


def _return(module: Module) -> Written:
    outputs = module.outputs
    if len(outputs) == 1 and outputs[0].name == "output":
        return f"return {outputs[0].value}"
    if len(outputs) > 1 and [output.name for output in outputs] == [f"output{i}" for i in range(len(outputs))]:
        return "return " + ", ".join(output.value for output in outputs)
    entries = mapping([(output.name, output.value) for output in outputs])
    return Group(f"return {entries.opening}", entries.items, entries.closing)
