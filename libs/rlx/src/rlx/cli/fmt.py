"""`rlx fmt`: the canonical form of a `.rlx` file."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Annotated

import typer

from rlx.cli.terminal import NO, Json, show

__all__ = ["fmt", "register"]


def register(app: typer.Typer) -> None:
    app.command()(fmt)


def fmt(
    files: Annotated[list[Path], typer.Argument(help="The .rlx files.", exists=True, dir_okay=False)],
    check: Annotated[bool, typer.Option("--check", help="Change nothing; exit 1 where a file would change.")] = False,
    as_json: Json = False,
) -> None:
    """Write .rlx files in canonical form.

    Example: rlx fmt --check models/*.rlx
    """
    from rlx_compiler.source import load_source
    from rlx_ir.text import carry_comments, parse_file, print_file

    changed: list[str] = []
    report: list[str] = []
    for path in files:
        source = load_source(path)
        before = path.read_text(encoding="utf-8")
        modules = parse_file(source.text, file=str(path), resolver=source.resolver).modules
        after = carry_comments(source.text, print_file(modules))
        if after == before:
            continue
        changed.append(str(path))
        if check:
            report += difflib.unified_diff(
                before.splitlines(), after.splitlines(), str(path), f"{path} (canonical)", lineterm=""
            )
        else:
            path.write_text(after, encoding="utf-8")
            report.append(f"{path}: written in canonical form")
    summary = "\n".join(report) if changed else "all files are in canonical form"
    show({"changed": changed, "checked": [str(path) for path in files]}, as_json, summary)
    if check and changed:
        raise typer.Exit(NO)
