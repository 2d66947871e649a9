"""`rlx run`: a node with a model, started by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rlx.cli.terminal import Target

__all__ = ["register", "run"]


def register(app: typer.Typer) -> None:
    app.command()(run)


def run(
    model: Annotated[
        list[Path] | None,
        typer.Option(
            "--model", "-m", help="The .rlx or .rlxz to serve; may be given again.", exists=True, dir_okay=False
        ),
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="The node's YAML file.", exists=True, dir_okay=False)
    ] = None,
    node: Annotated[str | None, typer.Option("--node", help="This node's id in the file's cluster.nodes.")] = None,
    bind_addr: Annotated[
        str | None,
        typer.Option(
            "--bind-addr", metavar="HOST:PORT", help="Where to listen; default what the file says, or 127.0.0.1:8080."
        ),
    ] = None,
    target: Target = "llvm",
    profiling: Annotated[
        bool, typer.Option("--profiling", help="Time every kernel; the latest runs go to profile.json at the end.")
    ] = False,
) -> None:
    """Serve models over HTTP (Open Inference Protocol at /v2) until Ctrl-C; what is deployed in the cluster too.

    Example: rlx run --config configs/local.yaml --model models/resnet18.rlx
    """
    from rlx.serving import serve

    serve(
        *(model or []),
        config=config,
        node=node,
        bind_addr=bind_addr,
        target=target,
        profiling="profile.json" if profiling else None,
        announce=lambda line: print(line, flush=True),
    )
