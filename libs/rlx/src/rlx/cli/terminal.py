"""What every sub-command shares with the terminal: output for people or for scripts, and exit codes."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn

import typer
from rich.console import Console

from rlx_base.errors import ArtifactError, CompileError, RequestError, RlxError, TextError, VerifyError

__all__ = [
    "DONE",
    "FAILED",
    "NO",
    "USAGE",
    "Json",
    "Opt",
    "Target",
    "columns",
    "exit_codes",
    "fail",
    "progress",
    "render",
    "say",
    "screen",
    "show",
]

DONE: Final = 0
NO: Final = 1
USAGE: Final = 2
FAILED: Final = 3

# Progress and remarks go to stderr, so that stdout holds the answer alone.
screen: Final = Console(stderr=True, highlight=False)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object, for scripts.")]
Target = Annotated[str, typer.Option("--target", "-t", help="llvm, c, or llvm:CPU such as llvm:x86-64-v3.")]
Opt = Annotated[int, typer.Option("--opt-level", "-O", min=0, max=3, help="0 none … 3 all optimisations.")]


def show(answer: dict[str, Any], as_json: bool, text: str) -> None:
    """The answer on stdout: as JSON, or as the text for people."""
    print(json.dumps(answer, indent=2, ensure_ascii=False) if as_json else text)


def columns(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table of texts, each column as wide as it must be."""
    table = [[*heads], *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[place]) for row in table) for place in range(len(heads))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table
    )


def progress(phase: str, fraction: float) -> None:
    """How far a long command is; only where a person watches."""
    if screen.is_terminal:
        screen.print(f"\r{phase:<30} {fraction:>4.0%}", end="" if fraction < 1 else "\n", markup=False)


def say(remark: str) -> None:
    """A remark for whoever watches, on stderr."""
    screen.print(remark, markup=False)


def fail(message: str, help: str, code: int = USAGE) -> NoReturn:
    """End with an error of the command line itself."""
    print(f"rlx: {message}\n   help: {help}", file=sys.stderr)
    raise typer.Exit(code)


def exit_code_of(error: RlxError) -> int:
    """1 where RLX read the input and its answer is no, 2 where the request was wrong, 3 where something broke."""
    if isinstance(error, TextError | VerifyError | CompileError | ArtifactError):
        return NO if error.status < 500 else FAILED
    return USAGE if isinstance(error, RequestError) and error.status < 500 else FAILED


def _source_of(error: RlxError) -> str | None:
    """The text that an error points into, where it is a file that can still be read."""
    if error.at is None:
        return None
    try:
        return Path(error.at.file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError, ValueError):
        return None


def render(error: RlxError) -> str:
    """The error for people: with the line that it is about, where that can still be read."""
    return error.render(_source_of(error))


@contextmanager
def exit_codes() -> Iterator[None]:
    """Turns what RLX raises into a message and an exit code; a traceback is shown only for a fault of RLX itself."""
    try:
        yield
    except RlxError as error:
        print(render(error), file=sys.stderr)
        raise SystemExit(exit_code_of(error)) from None
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        print(f"rlx: {place}{error.strerror or error}", file=sys.stderr)
        raise SystemExit(USAGE if isinstance(error, FileNotFoundError) else FAILED) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None
