"""From a module to a program: what each optimisation level does, in order, and what is told about it.

| level | adds |
|---|---|
| 0 | nothing: one kernel for each op, scalar loops |
| 1 | constant folding, dead code, common subexpressions, algebra |
| 2 | batch norm folded into convolutions, division by constants as products, ops fused (`fusion`), loops unrolled |
| 3 | vectors and register tiles, constants packed and fetched ahead, channels last where the order is open |

A schedule that the program declares is honoured at every level.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from rlx_base.errors import CompileError
from rlx_compiler.fusion import Group, fuse, groups_of
from rlx_compiler.loops.ir import Kernel
from rlx_compiler.loops.program import Program
from rlx_compiler.lowering.module import lower_module
from rlx_compiler.options import CompileOptions
from rlx_compiler.passes.choose_layouts import ChooseLayouts
from rlx_compiler.passes.memory import check_memory
from rlx_compiler.report import report_of
from rlx_compiler.schedule.effort import EFFORTS
from rlx_compiler.targets.spec import TargetSpec
from rlx_ir.module import Module
from rlx_ir.passes import LEVELS as TARGET_FREE
from rlx_ir.passes import Pass, Specialise, apply_passes
from rlx_ir.specialise import open_dims
from rlx_ir.types import TensorType

__all__ = ["LEVELS", "Compiled", "lower", "optimise"]

LEVELS: Final[Mapping[int, tuple[Pass, ...]]] = {
    0: TARGET_FREE[0],
    1: TARGET_FREE[1],
    2: TARGET_FREE[2],
    3: (*TARGET_FREE[2], ChooseLayouts()),
}

_FUSED_FROM: Final = 2


@dataclass(frozen=True, slots=True)
class Compiled:
    """The program for the emitters, the report (no times in it), and each kernel's nest as scheduled, for people."""

    program: Program
    report: Mapping[str, Any]
    warnings: tuple[str, ...]
    nests: Mapping[str, Kernel] = field(default_factory=dict)


def optimise(
    module: Module,
    options: CompileOptions,
    after_each: Callable[[Pass, Module], None] | None = None,
) -> Module:
    """The module after all passes of the level, its dimensions bound. Raises E210 where one has no value."""
    bound: tuple[Pass, ...] = (Specialise(tuple(sorted(options.dims.items()))),) if options.dims else ()
    free = open_dims(module) - set(options.dims)
    if free:
        names = sorted(free)
        raise CompileError("E210", name=module.name, names=", ".join(names), example=names[0])
    return apply_passes(module, (*bound, *LEVELS[options.opt_level]), after_each)


def lower(
    module: Module,
    spec: TargetSpec,
    options: CompileOptions,
    after_each: Callable[[Pass, Module], None] | None = None,
) -> Compiled:
    """The program of a module for a device.

    Raises E122 (`strict`) for a memory that the device lacks, E210 for a dimension without a value, E211 for a
    value whose type code cannot hold.
    """
    warnings = check_memory(module, spec, strict=options.strict)
    optimised = optimise(module, options, after_each)
    _check_types(optimised)
    fused = options.opt_level >= _FUSED_FROM
    groups: list[Group] = fuse(optimised, spec) if fused else groups_of(optimised, spec, fuse=False)
    lowered = lower_module(optimised, groups, spec, EFFORTS[options.opt_level])
    report = report_of(optimised, groups, lowered, spec, options, LEVELS[options.opt_level], warnings)
    return Compiled(lowered.program, report, tuple(warnings), lowered.nests)


def _check_types(module: Module) -> None:
    """That every value has a type that code can hold."""
    types = [(value.name, value.type, value.span) for value in module.inputs]
    types += [(constant.name, constant.type, constant.span) for constant in module.constants]
    types += [(result.name, result.type, result.span) for node in module.nodes for result in node.results]
    for name, type, span in types:
        if not isinstance(type, TensorType):
            raise CompileError("E211", at=span, what=f"{name}, a {type},")
