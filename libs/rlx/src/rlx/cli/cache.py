"""`rlx cache`: the bundles that were compiled here before."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Annotated

import typer

from rlx.cli.terminal import Json, columns, fail, show
from rlx_base.units import parse_bytes, parse_duration

__all__ = ["register"]

cache = typer.Typer(
    name="cache", help="What was compiled here before: RLX_CACHE_DIR, else ~/.cache/rlx.", no_args_is_help=True
)


def register(app: typer.Typer) -> None:
    app.add_typer(cache)


@cache.command("ls")
def ls(as_json: Json = False) -> None:
    """List the bundles of the cache, the latest used first.

    Example: rlx cache ls
    """
    from rlx.caching import CompileCache

    held = CompileCache.default()
    entries = held.entries()
    rows = [
        (entry.key[:12], entry.model, entry.target, entry.cpu, f"{entry.bytes / 1e6:.1f} MB", _ago(entry.used))
        for entry in entries
    ]
    answer = {
        "folder": str(held.folder),
        "entries": [asdict(one) | {"directory": str(one.directory)} for one in entries],
    }
    text = columns(("KEY", "MODEL", "TARGET", "CPU", "SIZE", "USED"), rows)
    show(answer, as_json, f"{text}\n{held.folder}: {sum(entry.bytes for entry in entries) / 1e6:.1f} MB")


@cache.command("gc")
def gc(
    keep: Annotated[str, typer.Option("--keep", help="Delete the longest unused until the rest is smaller.")] = "5GB",
    unused: Annotated[str, typer.Option("--unused", help="Delete what was not used for longer: 30d, 12h.")] = "30d",
    as_json: Json = False,
) -> None:
    """Delete bundles that are old or too many; whatever is needed again is compiled again.

    Example: rlx cache gc --keep 1GB --unused 7d
    """
    from rlx.caching import CompileCache

    try:
        days = float(unused[:-1]) * 86400 if unused.endswith("d") else parse_duration(unused)
        size = parse_bytes(keep)
    except ValueError as error:
        fail(str(error), "write them like --keep 1GB --unused 7d")
    deleted = CompileCache.default().collect(size, days)
    freed = sum(entry.bytes for entry in deleted)
    text = f"{len(deleted)} bundles deleted, {freed / 1e6:.1f} MB freed"
    show({"deleted": [entry.key for entry in deleted], "bytes": freed}, as_json, text)


def _ago(when: float) -> str:
    seconds = max(0.0, time.time() - when)
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit} ago"
    return "just now"
