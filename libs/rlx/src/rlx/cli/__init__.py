"""The `rlx` command. Each sub-command has a file of its own; `terminal` holds what they share."""

from __future__ import annotations

import typer

from rlx.cli import (
    analyze,
    cache,
    compile,
    deploy,
    doctor,
    fmt,
    import_onnx,
    infer,
    init,
    jobs,
    keys,
    models,
    nodes,
    profile_viewer,
    run,
    stack,
    verify,
    version,
)
from rlx.cli.terminal import exit_codes

__all__ = ["app", "main"]

app = typer.Typer(
    name="rlx",
    help="One program for every device: compile, check and run .rlx models.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.callback(invoke_without_command=True)(version.root)
for command in (
    init,
    compile,
    import_onnx,
    verify,
    analyze,
    infer,
    run,
    fmt,
    profile_viewer,
    cache,
    models,
    deploy,
    jobs,
    nodes,
    keys,
    doctor,
    stack,
):
    command.register(app)


def main() -> None:
    """Run the command. Exit codes: 0 done, 1 the answer is no, 2 bad usage, 3 the system failed."""
    with exit_codes():
        app()
