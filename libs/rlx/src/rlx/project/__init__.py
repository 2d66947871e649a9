"""The project that `rlx init` makes: the files of `template`, with the project's name filled in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

__all__ = ["create", "is_name"]

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")


def is_name(name: str) -> bool:
    """Whether a project can be called so: it names a Python package and a systemd unit."""
    return _NAME.fullmatch(name) is not None


def create(folder: Path) -> list[Path]:
    """Writes the project into `folder`, which is new or empty, and gives the files. Raises FileExistsError."""
    if folder.exists() and any(folder.iterdir()):
        raise FileExistsError(folder)
    written: list[Path] = []
    for place, template in _templates(files("rlx").joinpath("project", "template")):
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(template.read_text(encoding="utf-8").replace("{{name}}", folder.name), encoding="utf-8")
        if path.suffix == ".sh":
            path.chmod(0o755)
        written.append(path)
    return written


def _templates(folder: Traversable, place: Path = Path()) -> Iterator[tuple[Path, Traversable]]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            if entry.name != "__pycache__":
                yield from _templates(entry, place / entry.name)
        else:
            # A dot in front would hide it from the tools of the repository that the template lives in.
            yield place / entry.name.replace("dot-", "."), entry
