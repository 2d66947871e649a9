"""`rlx verify`: says what holds of a model or a bundle, or gives the counter-example."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from rlx.cli.terminal import Json, show
from rlx_base.errors import ArtifactError

__all__ = ["register", "verify"]


class Check(StrEnum):
    """What `--check` proves: that the program is well-formed, or that no value is read where it need not be seen."""

    structure = "structure"
    memory_coherence = "memory_coherence"


def register(app: typer.Typer) -> None:
    app.command()(verify)


def verify(
    model: Annotated[
        Path | None, typer.Argument(help="A .rlx or .rlxz file, or the folder of a bundle.", exists=True)
    ] = None,
    ir: Annotated[Path | None, typer.Option("--ir", help="The same, by name.", exists=True)] = None,
    check: Annotated[Check, typer.Option("--check", help="What to prove of a model.")] = Check.structure,
    as_json: Json = False,
) -> None:
    """Check a model (text, types, shapes, schedules, weights) or a bundle (every digest, ABI; whether it runs here).

    Example: rlx verify models/resnet18.rlx
    """
    path = model or ir
    if path is None:
        raise typer.BadParameter("give a .rlx file, a .rlxz file or the folder of a bundle", param_hint="MODEL")
    if check is Check.memory_coherence:
        answer, text = _coherence(path)
    else:
        answer, text = _bundle(path) if path.is_dir() else _model(path)
    show(answer, as_json, text)


def _coherence(path: Path) -> tuple[dict[str, Any], str]:
    from rlx_compiler.source import load_module
    from rlx_ir.coherence import check_coherence

    reads = check_coherence(load_module(path))
    text = f"{path}: each of {reads} reads is on the device where the value was written, or behind a transfer or sync"
    return {"model": str(path), "check": "memory_coherence", "reads": reads}, text


def _bundle(path: Path) -> tuple[dict[str, Any], str]:
    from rlx_runtime import check_host
    from rlx_wire.bundle import verify_bundle

    manifest = verify_bundle(path)
    # A bundle for another machine is as whole as one for this: that it cannot run here refuses nothing.
    why = None
    try:
        check_host(manifest)
    except ArtifactError as error:
        why = error.message.removeprefix("artifact rejected: ")
    answer = {
        "bundle": str(path),
        "digest": manifest.digest,
        "target": manifest.target,
        "cpu": manifest.cpu,
        "runs_here": why is None,
        "why_not": why,
    }
    runs = "this host can run it" if why is None else f"this host cannot run it: {why}"
    text = f"{path}: every file matches bundle {manifest.digest[:12]} ({manifest.target}, {manifest.cpu}); {runs}"
    return answer, text


def _model(path: Path) -> tuple[dict[str, Any], str]:
    from rlx_compiler.source import load_module
    from rlx_ir.identity import meaning_digest, program_digest
    from rlx_ir.verify import verify as verify_module

    module = load_module(path)
    verify_module(module)
    answer: dict[str, Any] = {
        "model": module.name,
        "inputs": {value.name: str(value.type) for value in module.inputs},
        "outputs": {output.name: str(module.types[output.value]) for output in module.outputs},
        "ops": len(module.nodes),
        "constants": len(module.constants),
        "meaning_digest": meaning_digest(module),
        "program_digest": program_digest(module),
    }
    text = "\n".join(
        [
            f"{path}: {module.name} holds: {answer['ops']} ops, {answer['constants']} constants",
            *(f"  input    {name}: {type}" for name, type in answer["inputs"].items()),
            *(f"  output   {name}: {type}" for name, type in answer["outputs"].items()),
            f"  meaning  {answer['meaning_digest']}",
            f"  program  {answer['program_digest']}",
        ]
    )
    return answer, text
