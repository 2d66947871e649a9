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
    tiles: Annotated[bool, typer.Option("--tiles", help="List the tiles that a schedule may ask for.")] = False,
    as_json: Json = False,
) -> None:
    """Show each kernel's threads, tile, registers, work, traffic, and what bounds it. Nothing is compiled.

    With --tiles, what a `tile_layout` may say of each op is listed instead: the blocks of each axis of each operand.

    Example: rlx analyze --model models/resnet18.rlx --target llvm:x86-64-v3
    """
    from rlx.analysis import analyze as analyze_module
    from rlx.analysis import tiles_of
    from rlx_compiler import CompileOptions
    from rlx_compiler.source import load_module

    sizes = sizes_of(dim)
    module = load_module(model, sizes)
    if tiles:
        legal = tiles_of(module)
        rows = [
            (tile.value, tile.op, tile.operand, ", ".join(f"{axis} 1..{size}" for axis, size in tile.sizes.items()))
            for tile in legal
        ]
        show({"tiles": [asdict(tile) for tile in legal]}, as_json, columns(("VALUE", "OP", "OPERAND", "BLOCKS"), rows))
        return
    options = CompileOptions(target=target, opt_level=opt_level, dims=sizes)
    found = analyze_module(module, options)
    kernels = [
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
        columns(heads, kernels),
        f"atomic ops: {', '.join(atomic) or 'none'}; limits exceeded: {'; '.join(found.limits) or 'none'}",
    ]
    show(asdict(found), as_json, "\n".join(lines))
