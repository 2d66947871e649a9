"""What a caller asks of the compiler and what it gets back: plain data that can be sent to another process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from rlx_base.errors import CompileError
from rlx_wire.manifest import Manifest

__all__ = ["HOST", "CompileOptions", "CompileResult", "Limits", "Progress"]

# The CPU of this machine: resolved to a named level before anything is compiled or keyed.
HOST: Final = "host"

Progress = Callable[[str, float], None]
"""Called with the phase that begins and the fraction of the work that is done."""


@dataclass(frozen=True, slots=True)
class CompileOptions:
    """How to compile a module.

    `target` names a target, with its CPU after a colon (`llvm:x86-64-v3`) or in `cpu`. `strict` refuses a program
    whose `memory_affinity` the target cannot give; `fallback_to_ddr` moves such tensors to its main memory. `dims`
    gives the symbolic dimensions their values.
    """

    target: str = "llvm"
    opt_level: int = 3
    cpu: str = HOST
    strict: bool = False
    fallback_to_ddr: bool = False
    dims: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0 <= self.opt_level <= 3:
            raise CompileError("E203", level=self.opt_level)


@dataclass(frozen=True, slots=True)
class Limits:
    """What one compilation may use. `memory_bytes` is address space: it holds whatever the child maps."""

    seconds: float = 300.0
    memory_bytes: int = 8 << 30


@dataclass(frozen=True, slots=True)
class CompileResult:
    """A written bundle. `report` is what `report.json` holds; times are apart from it, since they never repeat."""

    digest: str
    directory: Path
    manifest: Manifest
    report: Mapping[str, Any]
    seconds_by_phase: Mapping[str, float] = field(default_factory=dict)
