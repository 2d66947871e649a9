"""From a program in the loop IR to the code files of its bundle."""

from __future__ import annotations

import tempfile
from pathlib import Path

from rlx_compiler.loops.program import Program
from rlx_compiler.targets import Built, Resolved

__all__ = ["build_program"]


def build_program(program: Program, resolved: Resolved, opt_level: int) -> Built:
    """The code files by name, and what the target's tools say of them. The scratch folder's name is in none of them."""
    target, spec = resolved.target, resolved.spec
    sources = target.emit(program, spec)
    with tempfile.TemporaryDirectory(prefix="rlx-compile-") as scratch:
        return target.build(sources, spec, opt_level, Path(scratch))
