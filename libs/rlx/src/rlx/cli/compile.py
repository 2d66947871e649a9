"""`rlx compile`: a local compile to one bundle per target."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rlx.cli.terminal import Json, Opt, say, show

__all__ = ["compile_command", "register"]


def register(app: typer.Typer) -> None:
    app.command("compile")(compile_command)


def compile_command(
    model: Annotated[Path, typer.Option("--model", "-m", help="The .rlx or .rlxz file.", exists=True, dir_okay=False)],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the bundles, one a target.")],
    target: Annotated[str, typer.Option("--target", "-t", help="llvm, c, or several with commas.")] = "llvm",
    opt_level: Opt = 3,
    cpu: Annotated[str, typer.Option("--cpu", help="host, or a level such as x86-64-v3.")] = "host",
    dim: Annotated[list[str] | None, typer.Option("--dim", help="Size of a symbolic dimension: N=4.")] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="A declared memory that the target lacks is an error.")
    ] = False,
    fallback_to_ddr: Annotated[
        bool, typer.Option("--fallback-to-ddr", help="… is a warning, and DDR is used.")
    ] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Show each decision with its reason.")] = False,
    as_json: Json = False,
) -> None:
    """Compile a model for one or more targets.

    Example: rlx compile --model models/resnet18.rlx --target llvm,c --output build/resnet18
    """
    from rlx_compiler import CompileOptions, compile_source
    from rlx_compiler.explain import explanation

    answers: list[dict[str, Any]] = []
    texts: list[str] = []
    for name in target.split(","):
        options = CompileOptions(
            target=name.strip(),
            opt_level=opt_level,
            cpu=cpu,
            strict=strict,
            fallback_to_ddr=fallback_to_ddr,
            dims=_dims(dim or []),
        )
        result = compile_source(model, options, output / name.strip().replace(":", "-"), progress=_progress)
        for warning in result.report.get("warnings", []):
            say(f"warning: {warning}")
        seconds = sum(result.seconds_by_phase.values())
        answers.append(
            {
                "target": name.strip(),
                "digest": result.digest,
                "directory": str(result.directory),
                "seconds": result.seconds_by_phase,
            }
        )
        texts.append(f"{name.strip()}: {result.directory}  {result.digest[:12]}  {seconds:.2f} s")
        if explain:
            texts.append(explanation(result.report))
            answers[-1]["report"] = result.report
    show({"bundles": answers}, as_json, "\n".join(texts))


def _dims(given: list[str]) -> dict[str, int]:
    from rlx.cli.terminal import fail

    sizes: dict[str, int] = {}
    for text in given:
        name, _, size = text.partition("=")
        if not name or not size.isdigit():
            fail(f"--dim {text!r} is not NAME=SIZE", "write it like --dim N=4")
        sizes[name] = int(size)
    return sizes


def _progress(phase: str, fraction: float) -> None:
    from rlx.cli.terminal import screen

    if screen.is_terminal:
        screen.print(f"\r{phase:<20} {fraction:>4.0%}", end="" if fraction < 1 else "\n", markup=False)
