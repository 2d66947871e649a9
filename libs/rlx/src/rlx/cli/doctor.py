"""`rlx doctor`: what would bite on this machine."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from rlx.cli.terminal import NO, Json, show

__all__ = ["doctor", "register"]

_MARKS = {"ok": "ok  ", "note": "note", "bad": "BAD "}


def register(app: typer.Typer) -> None:
    app.command()(doctor)


def doctor(
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="Check this node's file too.", exists=True, dir_okay=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """Check Python, toolchains, devices, ports, addresses, services, clocks and the cache. Exit 1: something is bad.

    Example: rlx doctor --config configs/cluster.yaml
    """
    from rlx.checkup import examine

    findings = list(examine(config))
    lines = []
    for one in findings:
        lines.append(f"{_MARKS[one.state]} {one.what}: {one.says}")
        if one.help and one.state != "ok":
            lines.append(f"       {one.help}")
    show({"findings": [asdict(one) for one in findings]}, as_json, "\n".join(lines))
    if any(one.state == "bad" for one in findings):
        raise typer.Exit(NO)
