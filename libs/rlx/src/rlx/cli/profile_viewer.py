"""`rlx profile-viewer`: a profile as a table, or as a timeline in the browser."""

from __future__ import annotations

import webbrowser
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from rlx.cli.terminal import Json, columns, show

__all__ = ["profile_viewer", "register"]


def register(app: typer.Typer) -> None:
    app.command("profile-viewer")(profile_viewer)


def profile_viewer(
    profile: Annotated[Path, typer.Argument(help="profile.json, as `rlx infer --profile` writes it.", exists=True)],
    html: Annotated[
        Path | None, typer.Option("--html", help="Write the timeline as one page, without a network.")
    ] = None,
    browse: Annotated[bool, typer.Option("--open", help="Open that page in the browser.")] = False,
    as_json: Json = False,
) -> None:
    """Show where the time of a run went.

    Example: rlx profile-viewer profile.json --html timeline.html --open
    """
    from rlx.profile_view import ProfileView

    view = ProfileView.read(profile)
    found = view.rows()
    if browse and html is None:
        html = profile.with_suffix(".html")
    if html is not None:
        html.write_text(view.page(), encoding="utf-8")
    if browse and html is not None:
        webbrowser.open(html.resolve().as_uri())
    rows = [
        (
            row.name,
            " + ".join(row.ops),
            row.calls,
            f"{row.total_ms:.3f}",
            f"{row.share:.1%}",
            f"{row.gflops:.1f}",
            f"{row.intensity:.1f}",
        )
        for row in found
    ]
    table = columns(("KERNEL", "OPS", "CALLS", "TOTAL MS", "SHARE", "GFLOP/S", "FLOP/B"), rows)
    where = f"\nthe timeline is in {html}" if html is not None else ""
    answer = {"model": view.model, "target": view.target, "kernels": [asdict(row) for row in found]}
    show(answer, as_json, f"{view.model} for {view.target}\n{table}{where}")
