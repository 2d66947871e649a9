"""A model becomes a module, its text and its weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeAlias

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
from rlx_ir.types import TensorType

__all__ = ["Imported", "Structure", "import_model"]

# Of a sequence the types of its elements; of an optional what it holds, or None.
Structure: TypeAlias = TensorType | Sequence[TensorType] | None

# Constants of up to so many elements stand in the text; larger ones, and what NumPy has no numbers for, in the file.
_WRITTEN: Final = 16


@dataclass(frozen=True)
class Imported:
    """An imported model. `inputs` are its names for the module's, in the model's order: of a sequence, one for each
    element. `outputs` are the module's names of its results, likewise; None for an optional that holds nothing."""

    module: Module
    inputs: Mapping[str, str | tuple[str, ...]]
    outputs: tuple[str | tuple[str, ...] | None, ...]

    def given(self, arrays: Mapping[str, Any]) -> dict[str, Any]:
        """The module's inputs from the model's: arrays, and lists of arrays."""
        found: dict[str, Any] = {}
        for name, own in self.inputs.items():
            found |= {own: arrays[name]} if isinstance(own, str) else dict(zip(own, arrays[name], strict=True))
        return found

    def results(self, arrays: Mapping[str, Any]) -> list[Any]:
        """The model's outputs from the module's: arrays, lists of arrays, None."""
        return [
            None if own is None else arrays[own] if isinstance(own, str) else [arrays[name] for name in own]
            for own in self.outputs
        ]

    def text(self, file: str = "model.safetensors") -> tuple[str, bytes]:
        """The canonical text, and the content of the safetensors file that it names."""
        arrays = {
            one.name: one.array()
            for one in self.module.constants
            if one.array().size > _WRITTEN or one.type.dtype.numpy is None
        }
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


def import_model(
    model: onnx.ModelProto,
    dims: dict[str, int],
    values: Mapping[str, NDArray[Any]],
    structures: Mapping[str, Structure],
) -> Imported:
    """The module of a model; see `import_onnx`."""
    graph = model.graph
    opsets = {("" if entry.domain == "ai.onnx" else entry.domain): entry.version for entry in model.opset_import}
    opsets.setdefault("", 1)
    builder = ModuleBuilder(identifier(graph.name, "main"))
    translation = Translation(builder)
    functions = {(function.domain, function.name): function for function in model.functions}
    walk = Walk(translation, functions)
    scope = Scope({})
    inputs: dict[str, str | tuple[str, ...]] = {}
    initialized = {tensor.name for tensor in graph.initializer}
    for info in graph.input:  # IR version 3 lists initializers as inputs too
        if info.name not in initialized:
            _input(walk, scope, info, dims | _element_dims(graph, structures), values, structures, inputs)
    walk.graph(graph, scope, opsets)
    outputs: list[str | tuple[str, ...] | None] = []
    for info in graph.output:
        value = scope.values.get(info.name)
        if value is not None:
            try:
                outputs.append(_outputs(translation, _output_name(info.name), value))
            except (CompileError, Unsupported) as why:
                walk.problems.append(Problem(info.name, "output", opsets[""], "", str(why)))
    if walk.problems:
        raise _refusal(walk.problems)
    module = builder.build()
    return Imported(_named(module, translation.wanted), inputs, tuple(outputs))


def _outputs(translation: Translation, name: str, value: Value) -> str | tuple[str, ...] | None:
    """Returns a value under its name, a sequence under one name for each element, and nothing under none."""
    if value.empty:
        return None
    if value.items is not None:
        names = tuple(f"{name}_{place}" for place in range(len(value.items)))
        for own, item in zip(names, value.items, strict=True):
            translation.builder.output(own, _placed(translation, item))
        return names
    translation.builder.output(name, _placed(translation, value))
    return name


def _output_name(name: str) -> str:
    return name or "output"


def _input(
    walk: Walk,
    scope: Scope,
    info: onnx.ValueInfoProto,
    dims: Mapping[str, int],
    values: Mapping[str, NDArray[Any]],
    structures: Mapping[str, Structure],
    inputs: dict[str, str | tuple[str, ...]],
) -> None:
    translation = walk.translation
    if info.type.HasField("sequence_type") or info.type.HasField("optional_type"):
        _structured_input(walk, scope, info, structures, inputs)
        return
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


def _element_dims(graph: onnx.GraphProto, structures: Mapping[str, Structure]) -> dict[str, int]:
    """The sizes that the elements of sequences give to named dimensions, where all agree."""
    found: dict[str, set[int]] = {}
    for info in graph.input:
        structure = structures.get(info.name)
        types = [structure] if isinstance(structure, TensorType) else list(structure or ())
        declared = info.type
        while not declared.HasField("tensor_type"):
            kind = declared.WhichOneof("value")
            if kind not in ("sequence_type", "optional_type"):
                break
            declared = getattr(declared, kind).elem_type
        dims = declared.tensor_type.shape.dim if declared.HasField("tensor_type") else ()
        for type in types:
            for dim, size in zip(dims, type.shape, strict=False):
                if dim.dim_param and isinstance(size, int):
                    found.setdefault(dim.dim_param, set()).add(size)
    return {name: sizes.pop() for name, sizes in found.items() if len(sizes) == 1}


def _structured_input(
    walk: Walk,
    scope: Scope,
    info: onnx.ValueInfoProto,
    structures: Mapping[str, Structure],
    inputs: dict[str, str | tuple[str, ...]],
) -> None:
    """An input that is a sequence or an optional: as many inputs of the module as it has tensors."""
    builder = walk.translation.builder
    scope.values[info.name] = None
    if info.name not in structures:
        what = "sequence, and how many elements it has" if info.type.HasField("sequence_type") else "optional, and what"
        why = f"it is a {what} is not known when the model is imported"
        walk.problems.append(Problem(info.name, "input", 0, "", why, frozenset((info.name,))))
        return
    structure = structures[info.name]
    types = [structure] if isinstance(structure, TensorType) else list(structure or ())
    stem = identifier(info.name, "input")
    names = tuple(builder.input(builder.fresh(f"{stem}_{place}"), type) for place, type in enumerate(types))
    made = [Value(type, name, None, frozenset((info.name,))) for type, name in zip(types, names, strict=True)]
    if structure is None:
        scope.values[info.name] = Value.nothing()
    elif isinstance(structure, TensorType):
        scope.values[info.name], inputs[info.name] = made[0], names[0]
    else:
        scope.values[info.name], inputs[info.name] = Value.of_items(made), names


def _placed(translation: Translation, value: Value) -> str:
    """An output's name in the module. A module returns what it computes: an input or a constant is copied."""
    name = translation.operand(value)
    if value.known is None and name not in translation.builder.input_names:
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
