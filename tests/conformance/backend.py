"""The backend that `onnx.backend.test` drives.

A model is imported and its outputs are computed by the *interpreter* or by kernels compiled for a target. Nothing is
folded from the test's inputs; where an input says a shape that the model leaves open (the axes of a reduction, the
rounds of a loop), the model is imported for the value that it has, and the test is counted apart, as *specialised*. A
shape that the model itself declares for a result is no such value. Sequences and optionals are told to the import as
shapes are: how many tensors, of which types; their elements are inputs like others.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx.backend.base import Backend, BackendRep

import rlx_ir
from rlx_base.dtypes import of_numpy
from rlx_base.errors import RlxError
from rlx_compiler import CompileOptions, compile_module
from rlx_compiler.onnx import import_onnx
from rlx_compiler.onnx.importing import Imported, ImportRefused, Structure
from rlx_compiler.onnx.tensors import tensor_type
from rlx_ir.dims import Symbol
from rlx_ir.interpreter import bind_dims
from rlx_ir.specialise import specialise
from rlx_ir.types import TensorType
from rlx_runtime import load
from rlx_wire.manifest import HostOpSegment

__all__ = ["RlxBackend", "Run"]

os.environ.setdefault("ONNX_HOME", tempfile.gettempdir())
Array = NDArray[Any]


@dataclass
class Run(BackendRep):
    """A model that waits for inputs, which come in the order of the graph's own inputs, without initializers."""

    model: onnx.ModelProto
    engine: str
    specialised: list[str] = field(default_factory=list)
    host_ops: list[str] = field(default_factory=list)
    folded: bool = False

    def run(self, inputs: Sequence[Any], **_: Any) -> tuple[Any, ...]:
        initialized = {tensor.name for tensor in self.model.graph.initializer}
        names = [info.name for info in self.model.graph.input if info.name not in initialized]
        given = {name: _held(value) for name, value in zip(names, inputs, strict=False)}
        imported = self._imported(given)
        arrays = imported.given(given)
        self.folded = bool(given) and not imported.module.inputs
        if self.engine == "interpreter":
            return tuple(imported.results(rlx_ir.run(imported.module, arrays)))
        with tempfile.TemporaryDirectory() as folder:
            bundle = Path(folder) / "bundle"
            module = specialise(imported.module, bind_dims(imported.module, arrays))
            compile_module(module, CompileOptions(self.engine, opt_level=1), bundle)
            with load(bundle, threads=1) as loaded:
                self.host_ops = [part.op for part in loaded.manifest.launch_plan if isinstance(part, HostOpSegment)]
                return tuple(imported.results(loaded.run(arrays)))

    def _imported(self, given: dict[str, Any]) -> Imported:
        """The module; inputs become part of it only where the import says that it needs them. Of sequences and
        optionals the import is told what tensors they hold, as it is told shapes."""
        structures = {
            info.name: _structure(given[info.name])
            for info in self.model.graph.input
            if info.name in given and not info.type.HasField("tensor_type")
        }
        known: dict[str, Array] = {}
        dims: dict[str, int] = {}
        for _ in range(len(given) + 2):
            try:
                return import_onnx(self.model.SerializeToString(), dims=dims, values=known, structures=structures)
            except ImportRefused as refused:
                needed = frozenset[str]().union(*(problem.needs for problem in refused.problems))
                needed -= known.keys() | structures.keys()
                if not needed and not dims:  # it may only want to know the shapes that it runs with
                    dims = self._dims(given)
                    if dims:
                        continue
                if not needed:
                    raise
                known |= {name: given[name] for name in needed}
                self.specialised = sorted(known)
        raise AssertionError("an import asks for inputs that it has")

    def _dims(self, given: dict[str, Any]) -> dict[str, int]:
        """The sizes of named dimensions, from the shapes of the inputs."""
        found: dict[str, int] = {}
        for info in self.model.graph.input:
            if isinstance(given.get(info.name), np.ndarray) and info.type.HasField("tensor_type"):
                shape = tensor_type(info.type, info.name).shape
                found |= {
                    dim.name: size
                    for dim, size in zip(shape, given[info.name].shape, strict=True)
                    if isinstance(dim, Symbol)
                }
        return found


def _held(value: Any) -> Any:
    """An input as an array, a list of arrays, or nothing."""
    if value is None or isinstance(value, list | tuple):
        return value if value is None else [np.asarray(item) for item in value]
    return np.asarray(value)


def _structure(value: Any) -> Structure:
    def type_of(array: Array) -> TensorType:
        return TensorType(array.shape, of_numpy(array.dtype))

    return None if value is None else [type_of(item) for item in value] if isinstance(value, list) else type_of(value)


class RlxBackend(Backend):
    """`engine` is "interpreter" or a target's name; `last` is the run of the test at hand."""

    engine: ClassVar[str] = "interpreter"
    last: ClassVar[Run | None] = None

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **_: Any) -> Run:
        """Nothing is refused here: a model that cannot be imported fails its test when it runs."""
        cls.last = Run(model, cls.engine)
        return cls.last

    @classmethod
    def supports_device(cls, device: str) -> bool:
        return device == "CPU"


def reason(error: BaseException) -> str:
    """One line on why a test failed."""
    if isinstance(error, ImportRefused):
        return f"not imported: {error.problems[0]}"
    if isinstance(error, RlxError):
        return f"{error.code}: {error.message.splitlines()[0]}"
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:200]}"
