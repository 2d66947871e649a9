"""`rlx analyze`: what each kernel of a model asks of a target."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from rlx.cli.compile import Dims, sizes_of
from rlx.cli.terminal import Json, Opt, Target, columns, show

__all__ = ["analyze", "register"]


def register(app: typer.Typer) -> None:
    app.command()(analyze)


def analyze(
    model: Annotated[Path, typer.Option("--model", "-m", help="The .rlx or .rlxz file.", exists=True)],
    target: Target = "llvm",
    opt_level: Opt = 3,
    dim: Dims = None,
    as_json: Json = False,
) -> None:
    """Show each kernel's threads, tile, registers, work, traffic, and what bounds it. Nothing is compiled.

    Example: rlx analyze --model models/resnet18.rlx --target llvm:x86-64-v3
    """
    from rlx.analysis import analyze as analyze_module
    from rlx_compiler import CompileOptions
    from rlx_compiler.source import load_module

    options = CompileOptions(target=target, opt_level=opt_level, dims=sizes_of(dim))
    found = analyze_module(load_module(model), options)
    rows = [
        (
            kernel.name,
            " + ".join(kernel.ops),
            kernel.threads,
            kernel.tile,
            kernel.registers,
            f"{kernel.flops / 1e6:.1f}",
            f"{kernel.bytes / 1e6:.2f}",
            f"{kernel.intensity:.1f}",
            kernel.bound,
            "" if kernel.peak is None else f"{kernel.peak:.0%}",
        )
        for kernel in found.kernels
    ]
    heads = ("KERNEL", "OPS", "PARALLEL", "TILE", "REGISTERS", "MFLOP", "MB", "FLOP/B", "BOUND", "PEAK")
    atomic = sorted(name for name, splittable in found.splittable.items() if not splittable)
    lines = [
        f"{found.model} for {found.target} on {found.cpu}; under {found.ridge:.0f} FLOP/B memory is the bound",
        columns(heads, rows),
        f"atomic ops: {', '.join(atomic) or 'none'}; limits exceeded: {'; '.join(found.limits) or 'none'}",
    ]
    show(asdict(found), as_json, "\n".join(lines))
