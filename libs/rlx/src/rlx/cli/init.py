"""`rlx init`: a project that a user can start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rlx.cli.terminal import Json, fail, show

__all__ = ["init", "register"]


def register(app: typer.Typer) -> None:
    app.command()(init)


def init(
    name: Annotated[str, typer.Argument(help="The project, and the folder that is made for it.")],
    as_json: Json = False,
) -> None:
    """Make a project: a model as text and as Python, a node, its configurations, and a script that installs it.

    Example: rlx init vision && cd vision && rlx run --config configs/local.yaml --model models/resnet18.rlx
    """
    from rlx.project import create, is_name

    folder = Path(name)
    if not is_name(folder.name):
        fail(f"a project cannot be called {folder.name!r}", "use letters, digits, - and _, a letter first")
    try:
        written = create(folder)
    except FileExistsError:
        fail(f"{folder} is not empty", "choose another name, or move it away")
    listed = "\n".join(f"  {path}" for path in written)
    text = f"{listed}\n\ncd {folder} && rlx run --config configs/local.yaml --model models/resnet18.rlx"
    show({"project": str(folder), "files": [str(path) for path in written]}, as_json, text)
