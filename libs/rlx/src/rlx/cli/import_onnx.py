"""`rlx import`: an ONNX model becomes a `.rlx` file with its weights beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from rlx.cli.compile import Dims, sizes_of
from rlx.cli.terminal import Json, fail, show

__all__ = ["import_command", "register"]


def register(app: typer.Typer) -> None:
    app.command("import")(import_command)


def import_command(
    model: Annotated[Path, typer.Argument(help="The .onnx file.", exists=True, dir_okay=False)],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The .rlx file; beside the model.")] = None,
    dim: Dims = None,
    value: Annotated[
        list[str] | None, typer.Option("--value", help="Elements of an input that says a shape: axes=[1].")
    ] = None,
    as_json: Json = False,
) -> None:
    """Import an ONNX model as readable .rlx text, with its weights in a safetensors file.

    Example: rlx import model.onnx -o models/model.rlx
    """
    from rlx_compiler.onnx import import_onnx

    target = output or model.with_suffix(".rlx")
    if target.suffix != ".rlx":
        fail(f"--output {str(target)!r} does not end in .rlx", "write it like -o model.rlx")
    imported = import_onnx(model, dims=sizes_of(dim), values=_values(value or []))
    imported.write(target)
    module = imported.module
    renamed = {name: inner for name, inner in imported.inputs.items() if name != inner}
    answer = {
        "file": str(target),
        "nodes": len(module.nodes),
        "inputs": {value.name: str(value.type) for value in module.inputs},
        "outputs": [output.name for output in module.outputs],
        "renamed": renamed,
    }
    lines = [f"{target}: {len(module.nodes)} nodes"]
    lines += [f"  input {value.name}: {value.type}" for value in module.inputs]
    lines += [f"  output {output.name}: {module.types[output.value]}" for output in module.outputs]
    lines += [f"  {name!r} is called {inner}" for name, inner in renamed.items()]
    show(answer, as_json, "\n".join(lines))


def _values(given: list[str]) -> dict[str, Any]:
    import numpy as np

    values: dict[str, Any] = {}
    for text in given:
        name, _, elements = text.partition("=")
        try:
            values[name] = np.asarray(json.loads(elements))
        except ValueError:
            fail(f"--value {text!r} is not NAME=ELEMENTS", "write it like --value axes=[1,2]")
    return values
