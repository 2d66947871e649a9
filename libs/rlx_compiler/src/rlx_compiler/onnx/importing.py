"""A model becomes a module, its text and its weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import onnx
from numpy.typing import NDArray

from rlx_base.errors import CompileError
from rlx_compiler.onnx.graphs import Problem, Walk
from rlx_compiler.onnx.names import identifier, renamed
from rlx_compiler.onnx.tensors import tensor_type
from rlx_compiler.onnx.translation import Scope, Translation, Unsupported, Value
from rlx_ir.builder import ModuleBuilder
from rlx_ir.constants import Files
from rlx_ir.constants.safetensors import write_safetensors
from rlx_ir.module import Module
from rlx_ir.ops.copying import Identity
from rlx_ir.text import print_module

__all__ = ["Imported", "import_model"]

# Constants of up to so many elements stand in the text; larger ones in the safetensors file.
_WRITTEN: Final = 16


@dataclass(frozen=True)
class Imported:
    """An imported model. `inputs` and `outputs` are its names for the module's, in the model's order."""

    module: Module
    inputs: Mapping[str, str]
    outputs: tuple[str, ...]

    def text(self, file: str = "model.safetensors") -> tuple[str, bytes]:
        """The canonical text, and the content of the safetensors file that it names."""
        arrays = {one.name: one.array() for one in self.module.constants if one.array().size > _WRITTEN}
        if not arrays:
            return print_module(self.module), b""
        content = write_safetensors(arrays)
        files = Files(lambda name: memoryview(content))
        constants = tuple(
            replace(one, data=files.tensor(file, one.name)) if one.name in arrays else one
            for one in self.module.constants
        )
        return print_module(replace(self.module, constants=constants)), content

    def write(self, path: Path) -> None:
        """Writes the text to `path`, and the weights beside it as `.safetensors`."""
        weights = path.with_suffix(".safetensors")
        text, content = self.text(weights.name)
        if content:
            weights.write_bytes(content)
        path.write_text(text, encoding="utf-8")


def import_model(model: onnx.ModelProto, dims: Mapping[str, int], values: Mapping[str, NDArray[Any]]) -> Imported:
    """The module of a model; see `import_onnx`."""
    graph = model.graph
    opsets = {("" if entry.domain == "ai.onnx" else entry.domain): entry.version for entry in model.opset_import}
    opsets.setdefault("", 1)
    builder = ModuleBuilder(identifier(graph.name, "main"))
    translation = Translation(builder)
    functions = {(function.domain, function.name): function for function in model.functions}
    walk = Walk(translation, functions)
    scope = Scope({})
    inputs: dict[str, str] = {}
    initialized = {tensor.name for tensor in graph.initializer}
    for info in graph.input:  # IR version 3 lists initializers as inputs too
        if info.name not in initialized:
            _input(walk, scope, info, dims, values, inputs)
    walk.graph(graph, scope, opsets)
    outputs = []
    for info in graph.output:
        value = scope.values.get(info.name)
        if value is not None:
            try:
                builder.output(_output_name(info.name), _placed(translation, value, inputs))
                outputs.append(info.name)
            except (CompileError, Unsupported) as why:
                walk.problems.append(Problem(info.name, "output", opsets[""], "", str(why)))
    if walk.problems:
        raise _refusal(walk.problems)
    module = builder.build()
    return Imported(_named(module, translation.wanted), inputs, tuple(outputs))


def _output_name(name: str) -> str:
    return name or "output"


def _input(
    walk: Walk,
    scope: Scope,
    info: onnx.ValueInfoProto,
    dims: Mapping[str, int],
    values: Mapping[str, NDArray[Any]],
    inputs: dict[str, str],
) -> None:
    translation = walk.translation
    scope.values[info.name] = None
    if info.name in values:
        scope.values[info.name] = translation.constant(values[info.name])
        return
    try:
        type = tensor_type(info.type, info.name).bind(dims)
    except ValueError as why:
        walk.problems.append(Problem(info.name, "input", 0, "", f"it is {why}"))
        return
    name = translation.builder.input(translation.builder.fresh(identifier(info.name, "input")), type)
    inputs[info.name] = name
    scope.values[info.name] = Value(type, name, None, frozenset((info.name,)))


def _placed(translation: Translation, value: Value, inputs: Mapping[str, str]) -> str:
    """An output's name in the module. A module returns what it computes: an input or a constant is copied."""
    name = translation.operand(value)
    if value.known is None and name not in inputs.values():
        return name
    return translation.builder.add(Identity(), name)


def _named(module: Module, wanted: Mapping[str, str]) -> Module:
    """The module with the model's own names, as far as they are free."""
    names: dict[str, str] = {}
    taken = set(module.types) | {value.name for value in module.inputs}
    for made, name in wanted.items():
        if made not in module.types or any(value.name == made for value in module.inputs):
            continue
        free, count = name, 0
        while free in taken and free != made:
            count += 1
            free = f"{name}_{count}"
        names[made] = free
        taken.add(free)
    return renamed(module, names)


class ImportRefused(CompileError):
    """E213, with the problems one by one."""

    problems: tuple[Problem, ...] = ()


def _refusal(problems: list[Problem]) -> CompileError:
    error = ImportRefused("E213", count=len(problems), rows="\n  ".join(map(str, problems)))
    error.problems = tuple(problems)
    return error
