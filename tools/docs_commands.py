"""The page of every command, from the command itself."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import typer
from typer.core import TyperArgument, TyperGroup

from rlx.cli import app
from tools.docs_language import table

__all__ = ["page"]

HEAD = """# Commands

Every command has `--help`. Most have `--json`, which prints one JSON object. Exit codes: 0 done, 1 the answer is no,
2 bad usage, 3 the system failed. The answer goes to stdout; progress and remarks go to stderr.

| variable | means |
|---|---|
| `RLX_CACHE_DIR` | the compile cache; default `~/.cache/rlx` |
| `RLX_ENDPOINT` | the API that commands ask |
| `RLX_API_KEY` | its key |
| `RLX_DATA` | the folder of `rlx up` |
| `RLX_LOG` | level of a service's log |
"""


def page() -> str:
    root = typer.main.get_command(app)
    return "\n".join((HEAD, *_commands(root, "rlx")))


def _commands(command: Any, path: str) -> Iterator[str]:
    if isinstance(command, TyperGroup):
        for name, child in command.commands.items():
            yield from _commands(child, f"{path} {name}")
        return
    text = inspect.cleandoc(command.help or "")
    said, _, example = text.partition("Example:")
    yield f"## {path}\n\n{said.strip()}\n"
    if example:
        yield f"```text\n{example.strip()}\n```\n"
    rows = [_row(parameter) for parameter in command.params if not getattr(parameter, "hidden", False)]
    if rows:
        yield table(("argument or option", "means"), rows) + "\n"


def _row(parameter: Any) -> tuple[str, str]:
    help = getattr(parameter, "help", None) or ""
    needed = " (required)" if parameter.required else ""
    if isinstance(parameter, TyperArgument):
        return f"`{parameter.name.upper()}`", help + needed
    default = parameter.default
    shown = f" Default `{default}`." if isinstance(default, str | int) and not isinstance(default, bool) else ""
    return ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts)), f"{help}{needed}{shown}"
