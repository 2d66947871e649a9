"""The two digests of a program.

**Meaning**: graph, types, attributes, op versions, names of inputs and outputs, and the elements of constants in
logical order. Equal meanings give equal results. Layouts, schedules, affinities, names in between, comments and places
take no part.

**Program**: all that is declared. It is the identity that caches key on and that a signature signs.

Both hash one canonical encoding: JSON with sorted keys, values numbered in the order in which they are defined, floats
by their bits. `FORMAT_VERSION` grows when the encoding changes; the golden digests in the tests hold it still.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from rlx_base.dtypes import DType, of_numpy
from rlx_ir.module import Constant, Module, Node
from rlx_ir.op import Op, attributes_of
from rlx_ir.schedule import Schedule
from rlx_ir.types import OptionalType, SequenceType, TensorType, Type

__all__ = ["FORMAT_VERSION", "array_digest", "meaning_digest", "program_digest"]

FORMAT_VERSION: Final = 1

Encoded = dict[str, Any] | list[Any] | str | int | bool | None


def array_digest(array: NDArray[np.generic]) -> str:
    """SHA-256 of dtype, shape and the elements, little-endian and row-major."""
    header = json.dumps([of_numpy(array.dtype).name, list(array.shape)], separators=(",", ":"))
    digest = hashlib.sha256(header.encode() + b"\n")
    little = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False)
    digest.update(little.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def meaning_digest(module: Module) -> str:
    """The digest of what a program computes."""
    return _Meaning().of(module)


def program_digest(module: Module) -> str:
    """The digest of all that a program declares."""
    return _Program().of(module)


def _hash(kind: str, encoded: Encoded) -> str:
    text = json.dumps(["rlx", kind, FORMAT_VERSION, encoded], sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


# The digest of each read-only array that is alive, by its id: weights are digested once, however often it is asked.
_DIGESTS: Final[dict[int, tuple[ref[Any], str]]] = {}


def _constant_digest(constant: Constant) -> str:
    array = constant.array()
    known = _DIGESTS.get(id(array))
    if known is not None and known[0]() is array:
        return known[1]
    digest = array_digest(array)
    if not array.flags.writeable:
        key = id(array)
        _DIGESTS[key] = ref(array, lambda _: _DIGESTS.pop(key, None)), digest
    return digest


class _Meaning:
    """Values are numbers: inputs first, then constants by their first use, then results in order."""

    kind = "meaning"

    def __init__(self) -> None:
        self._modules: dict[int, str] = {}

    def of(self, module: Module) -> str:
        """Modules that are called often are digested once."""
        if id(module) not in self._modules:
            self._modules[id(module)] = _hash(self.kind, self.module(module))
        return self._modules[id(module)]

    def module(self, module: Module) -> dict[str, Encoded]:
        numbers: dict[str, int] = {}
        for value in module.inputs:
            numbers[value.name] = len(numbers)
        constants: list[Encoded] = []
        nodes: list[Encoded] = []
        for node in module.nodes:
            for name in node.operands:
                self._use(module, name, numbers, constants)
            nodes.append(self.node(node, numbers))
            for result in node.results:
                numbers[result.name] = len(numbers)
        for output in module.outputs:
            self._use(module, output.value, numbers, constants)
        return {
            "inputs": [[value.name, self.type(value.type)] for value in module.inputs],
            "constants": constants,
            "nodes": nodes,
            "outputs": [[output.name, numbers[output.value]] for output in module.outputs],
        }

    def _use(self, module: Module, name: str | None, numbers: dict[str, int], constants: list[Encoded]) -> None:
        if name is not None and name not in numbers:
            numbers[name] = len(numbers)
            constants.append([numbers[name], self.constant(module.constant[name])])

    def constant(self, constant: Constant) -> Encoded:
        return [self.type(constant.type), _constant_digest(constant)]

    def node(self, node: Node, numbers: Mapping[str, int]) -> dict[str, Encoded]:
        return {
            "op": self.op(node.op),
            "operands": [None if name is None else numbers[name] for name in node.operands],
            "results": [self.type(result.type) for result in node.results],
            "regions": [self.of(region) for region in node.regions],
        }

    def op(self, op: Op) -> Encoded:
        attributes = {name: _value(value) for name, value in attributes_of(op).items()}
        return [op.name, op.version, attributes]

    def type(self, type: Type) -> Encoded:
        match type:
            case TensorType(shape, dtype):
                return [dtype.name, [dim if isinstance(dim, int) else str(dim) for dim in shape]]
            case SequenceType(element):
                return ["sequence", self.type(element)]
            case OptionalType(element):
                return ["optional", self.type(element)]


class _Program(_Meaning):
    """Also names, storage and schedules."""

    kind = "program"

    def module(self, module: Module) -> dict[str, Encoded]:
        names: list[Encoded] = [result.name for node in module.nodes for result in node.results]
        unused = [constant for constant in module.constants if not module.uses[constant.name]]
        return super().module(module) | {
            "name": module.name,
            "names": names,
            "unused": [self.constant(constant) for constant in unused],
        }

    def constant(self, constant: Constant) -> Encoded:
        return [constant.name, self.type(constant.type), _constant_digest(constant)]

    def node(self, node: Node, numbers: Mapping[str, int]) -> dict[str, Encoded]:
        return super().node(node, numbers) | {"schedule": _schedule(node.schedule)}

    def type(self, type: Type) -> Encoded:
        if not isinstance(type, TensorType):
            return super().type(type)
        layout = None if type.layout is None else type.layout.text
        affinity = None if type.affinity is None else dict(type.affinity.fields())
        return [super().type(type), layout, affinity]


def _schedule(schedule: Schedule) -> Encoded:
    compute, coalesce = schedule.compute_schedule, schedule.memory_coalesce
    return {
        "tile_layout": [[tile.operand, [list(size) for size in tile.sizes]] for tile in schedule.tile_layout],
        "compute_schedule": None
        if compute is None
        else {
            "parallel_dims": list(compute.parallel_dims),
            "vectorize_dim": compute.vectorize_dim,
            "unroll": [list(count) for count in compute.unroll],
            "order": list(compute.order),
            "pipeline_depth": compute.pipeline_depth,
        },
        "memory_coalesce": None if coalesce is None else [coalesce.width, coalesce.dim],
    }


def _value(value: object) -> Encoded:
    """An attribute; each kind of value has a form of its own, so that 1, 1.0 and True differ."""
    match value:
        case bool() | None | str():
            return value
        case int():
            return value
        case float():
            return {"float": value.hex()}
        case DType(name):
            return {"dtype": name}
        case tuple():
            return [_value(item) for item in value]
    raise TypeError(f"an attribute of type {type(value).__name__}")
