"""`rlx.compile`: a model of any kind becomes a bundle."""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch
from pathlib import Path
from threading import Event
from typing import Any

from rlx.caching import CompileCache
from rlx_compiler import CompileOptions, CompileResult, compile_module, compile_source
from rlx_compiler.options import Progress
from rlx_compiler.source import load_module
from rlx_ir.module import Module

__all__ = ["compile", "compile_file", "copied", "module_of"]


@singledispatch
def module_of(model: Any) -> Module:
    """The module that a model stands for: a Module, a function under @rlx.module, or the path of a .rlx, .rlxz or
    .onnx."""
    raise TypeError(f"{model!r} is no model: give a module, a function under @rlx.module, or a path")


@module_of.register
def _(model: Module) -> Module:
    return model


@module_of.register(str)
@module_of.register(Path)
def _(model: Path | str) -> Module:
    return load_module(Path(model))


def compile(
    model: Any,
    *,
    target: str = "llvm",
    opt_level: int = 3,
    cpu: str = "host",
    dims: Mapping[str, int] | None = None,
    strict: bool = False,
    fallback_to_ddr: bool = False,
    output: Path | str | None = None,
) -> CompileResult:
    """Compile a model for one target, in this process; what was compiled before comes from the cache.

    The result's `directory` is the bundle: in the cache, or copied to `output`. Raises TextError, VerifyError and
    CompileError as `rlx compile` shows them.
    """
    options = CompileOptions(
        target=target, opt_level=opt_level, cpu=cpu, strict=strict, fallback_to_ddr=fallback_to_ddr, dims=dims or {}
    )
    module = load_module(Path(model), options.dims) if isinstance(model, str | Path) else module_of(model)
    result = CompileCache.default().bundle(
        module, options, lambda directory: compile_module(module, options, directory)
    )
    return result if output is None else copied(result, Path(output))


def compile_file(
    path: Path, options: CompileOptions, progress: Progress | None = None, over: Event | None = None
) -> CompileResult:
    """As `compile`, for a file: in a child process that is bounded in time and memory. What `rlx` itself does.

    Raises E212 once another thread sets `over`.
    """

    def build(directory: Path) -> CompileResult:
        return compile_source(path, options, directory, progress=progress, over=over)

    return CompileCache.default().bundle(load_module(path, options.dims), options, build)


def copied(result: CompileResult, output: Path) -> CompileResult:
    """The same bundle in another folder. Raises E308 where that holds something else."""
    from rlx_wire.bundle import write_bundle

    files: dict[str, bytes | Path] = {name: result.directory / name for name in result.manifest.files}
    digest = write_bundle(output, result.manifest, files)
    return CompileResult(digest, output, result.manifest, result.report, result.seconds_by_phase)
