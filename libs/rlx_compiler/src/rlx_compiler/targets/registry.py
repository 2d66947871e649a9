"""Finding targets by name: every module of this package that defines `TARGET` is one."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from rlx_base.errors import CompileError
from rlx_compiler.loops.program import Program
from rlx_compiler.options import CompileOptions
from rlx_compiler.targets.spec import TargetSpec
from rlx_ir.op import nearest

__all__ = ["Built", "Resolved", "Target", "find_target", "resolve", "target_names", "usable_targets"]


@dataclass(frozen=True, slots=True)
class Built:
    """What a target makes of a program: the code files of the bundle by name (plain names, no folders), and what its
    tools say of them (registers, spills, LUTs; nothing of time or place), which becomes `build` in the report."""

    files: Mapping[str, bytes]
    report: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Target:
    """How to compile for one kind of device.

    `describe` gives the spec of a named CPU (`host` is this machine's) or raises E202. `emit` gives the source files
    of a program by name; `build` turns them, in a scratch folder of its own, into all the code files of a bundle.
    `toolchain` names the tools that take part with their versions, for the key; it raises E204 where one is missing.
    `host_ops`: its runtime lets ops that the host computes stand between its kernels.
    """

    name: str
    describe: Callable[[str], TargetSpec]
    emit: Callable[[Program, TargetSpec], Mapping[str, str]]
    build: Callable[[Mapping[str, str], TargetSpec, int, Path], Built]
    toolchain: Callable[[], Sequence[str]]
    host_ops: bool = False


@dataclass(frozen=True, slots=True)
class Resolved:
    """A target and the device that was asked for, with nothing left open: `host` has become a named CPU."""

    target: Target
    spec: TargetSpec


@cache
def _targets() -> Mapping[str, Target]:
    package = importlib.import_module("rlx_compiler.targets")
    found: dict[str, Target] = {}
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        target = getattr(importlib.import_module(module.name), "TARGET", None)
        if isinstance(target, Target):
            found[target.name] = target
    return dict(sorted(found.items()))


def target_names() -> list[str]:
    """The names of all targets, sorted."""
    return list(_targets())


def usable_targets() -> tuple[str, ...]:
    """The names of the targets whose tools are all here, sorted."""
    return tuple(name for name, target in _targets().items() if _has_tools(target))


def _has_tools(target: Target) -> bool:
    try:
        target.toolchain()
    except CompileError:
        return False
    return True


def find_target(name: str) -> Target:
    """The target of this name. Raises E201, with the nearest known one."""
    targets = _targets()
    if name not in targets:
        raise CompileError("E201", name=name, hint=nearest(name, targets), known=", ".join(targets))
    return targets[name]


def resolve(options: CompileOptions) -> Resolved:
    """The target and device of the options. A CPU after the target's colon wins over `options.cpu`."""
    name, _, cpu = options.target.partition(":")
    target = find_target(name)
    return Resolved(target, target.describe(cpu or options.cpu))
