"""Compiling one model for several targets side by side, each with its progress; what fails for one stops no other."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, NoReturn

from rlx.cli.terminal import render, say, screen
from rlx_base.errors import RlxError

if TYPE_CHECKING:
    from rlx_compiler import CompileOptions, CompileResult
    from rlx_compiler.options import Progress

__all__ = ["Done", "compile_all", "raise_first"]


@dataclass(frozen=True, slots=True)
class Done:
    """What came of each target, in the order in which they were asked for."""

    bundles: tuple[tuple[CompileOptions, CompileResult], ...]
    failures: tuple[tuple[CompileOptions, RlxError], ...]


def compile_all(model: Path, every: Sequence[CompileOptions], folder: Path) -> Done:
    """One bundle for each of `every` in a folder of its own below `folder`, as many at a time as there are processors.

    Each is compiled by a child process; the threads here only wait for them.
    """
    from rlx.compiling import compile_file, copied

    over = Event()

    def compile_one(options: CompileOptions, progress: Progress) -> CompileResult | RlxError:
        try:
            result = copied(compile_file(model, options, progress, over), folder / options.target.replace(":", "-"))
        except RlxError as error:
            return error
        progress("done", 1.0)
        return result

    at_once = min(len(every), len(os.sched_getaffinity(0)))
    with _bars([options.target for options in every]) as bars, ThreadPoolExecutor(at_once) as pool:
        try:
            results = list(pool.map(compile_one, every, bars))
        finally:
            over.set()  # at Ctrl-C: the children end, and the threads that wait for them
    pairs = list(zip(every, results, strict=True))
    return Done(
        tuple((options, result) for options, result in pairs if not isinstance(result, RlxError)),
        tuple((options, result) for options, result in pairs if isinstance(result, RlxError)),
    )


def raise_first(failures: Sequence[tuple[CompileOptions, RlxError]]) -> NoReturn:
    """Raises the first failure, so that its kind decides the exit code; the others are told before it."""
    for options, error in failures[1:]:
        say(f"{options.target}: {render(error)}")
    if len(failures) > 1:
        say(f"{failures[0][0].target}:")
    raise failures[0][1]


@contextmanager
def _bars(names: Sequence[str]) -> Iterator[list[Progress]]:
    """For each name a function that shows how far it is; only where a person watches."""
    if not screen.is_terminal:
        yield [lambda _phase, _fraction: None for _ in names]
        return
    from rich.progress import BarColumn, TaskID, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[phase]}"), TimeElapsedColumn())
    with Bars(*columns, console=screen, transient=True) as bars:

        def shown(task: TaskID) -> Progress:
            return lambda phase, fraction: bars.update(task, completed=fraction, phase=phase)

        yield [shown(bars.add_task(name, total=1.0, phase="waiting")) for name in names]
