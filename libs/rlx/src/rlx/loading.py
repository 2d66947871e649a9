"""`rlx.load`: a bundle or a model of any kind becomes something that runs in this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rlx.compiling import compile, module_of
from rlx.dynamic import DynamicModel, ModuleProgram, Program
from rlx_ir.dims import Symbol
from rlx_ir.module import Module
from rlx_ir.types import TensorType
from rlx_runtime import InProcessModel
from rlx_runtime import load as load_bundle

__all__ = ["load", "program_of"]


def load(
    model: Any,
    *,
    threads: int | None = None,
    keep: int = 16,
    buckets: Mapping[str, Sequence[int]] | None = None,
    **options: Any,
) -> InProcessModel | DynamicModel:
    """A model that runs in this process: `load(…).run({"x": array})` gives arrays by name.

    `model` is the folder of a bundle, or whatever `compile` takes, then with its `options`. An `.onnx` file, and a
    module whose sizes `dims` leaves open, take inputs of any shape: see `DynamicModel`, also for `keep` and `buckets`.
    """
    if isinstance(model, str | Path) and (Path(model) / "manifest.json").is_file():
        return load_bundle(Path(model), threads)
    program = None if options.get("dims") else program_of(model)
    if program is None:
        return load_bundle(compile(model, **options).directory, threads)
    kept = {name: value for name, value in options.items() if name in ("target", "opt_level")}
    return DynamicModel(program, threads=threads, keep=keep, buckets=buckets, **kept)


def program_of(model: Any) -> Program | None:
    """The model as a program that is specialised for its inputs; None where nothing of it is open."""
    if isinstance(model, str | Path) and Path(model).suffix == ".onnx":
        from rlx_compiler.onnx import open_onnx

        return open_onnx(Path(model))
    module = module_of(model)
    return ModuleProgram(module) if _is_open(module) else None


def _is_open(module: Module) -> bool:
    types = [value.type for value in module.inputs if isinstance(value.type, TensorType)]
    return any(isinstance(dim, Symbol) for type in types for dim in type.shape)
