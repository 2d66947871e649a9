"""What a compilation looks like after each of its phases: for `rlx compile --dump-phases` and `--until`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rlx_base.errors import CompileError
from rlx_compiler import CompileOptions
from rlx_compiler.loops.text import show
from rlx_compiler.pipeline import lower
from rlx_compiler.targets import resolve
from rlx_ir.module import Module
from rlx_ir.op import nearest
from rlx_ir.passes import Pass
from rlx_ir.text import print_module

__all__ = ["Phase", "dump", "find", "phases"]


@dataclass(frozen=True, slots=True)
class Phase:
    """The state after a phase. `files` are texts by the end of their names: `.rlx`, `.loops`, `kernel.ll` …"""

    name: str
    files: dict[str, str]

    @property
    def text(self) -> str:
        return "\n".join(self.files.values())


def phases(module: Module, options: CompileOptions) -> Iterator[Phase]:
    """`read`, every pass of the level, `loops` (the scheduled nests), and `code` (the sources for the toolchain).

    A pass that runs twice has a number the second time.
    """
    yield Phase("read", {".rlx": print_module(module)})
    resolved = resolve(options)
    found: list[Phase] = []
    counts: dict[str, int] = {}

    def after(done: Pass, result: Module) -> None:
        counts[done.name] = count = counts.get(done.name, 0) + 1
        name = done.name if count == 1 else f"{done.name}-{count}"
        found.append(Phase(name, {".rlx": print_module(result)}))

    compiled = lower(module, resolved.spec, options, after)
    yield from found
    yield Phase("loops", {".loops": "\n".join(show(kernel) for kernel in compiled.nests.values())})
    sources = resolved.target.emit(compiled.program, resolved.spec)
    yield Phase("code", {f"-{name}": text for name, text in sorted(sources.items())})


def find(module: Module, options: CompileOptions, name: str) -> Phase:
    """The phase of this name. Raises E224, with the names that there are."""
    known: list[str] = []
    for phase in phases(module, options):
        if phase.name == name:
            return phase
        known.append(phase.name)
    raise CompileError("E224", name=name, hint=nearest(name, known), known=", ".join(known))


def dump(module: Module, options: CompileOptions, folder: Path) -> list[Path]:
    """Every phase as files, numbered in order: `00-read.rlx`, `01-inline-calls.rlx`, …"""
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for number, phase in enumerate(phases(module, options)):
        for ending, text in phase.files.items():
            path = folder / f"{number:02}-{phase.name}{ending}"
            path.write_text(text, encoding="utf-8")
            written.append(path)
    return written
