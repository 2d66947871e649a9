"""A model with open sizes, run with inputs of any shape: each shape is compiled once, when it is first seen."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from rlx.compiling import compile
from rlx_base.errors import RequestError
from rlx_compiler import CompileResult
from rlx_ir.dims import Shape, Symbol
from rlx_ir.module import Module
from rlx_ir.specialise import specialise
from rlx_ir.types import TensorType
from rlx_runtime import InProcessModel
from rlx_runtime import load as load_bundle

__all__ = ["DynamicModel", "ModuleProgram", "Program"]

Array = NDArray[Any]


class Specialised(Protocol):
    """A module without open sizes. `inputs` are the program's names of inputs for the module's."""

    @property
    def module(self) -> Module: ...

    @property
    def inputs(self) -> Mapping[str, Any]: ...


class Program(Protocol):
    """What can be specialised for inputs; `rlx_compiler.onnx.program.OnnxProgram` is one."""

    name: str
    inputs: dict[str, TensorType]

    def key(self, arrays: Mapping[str, Array]) -> Hashable: ...

    def specialised(self, arrays: Mapping[str, Array]) -> Specialised: ...


@dataclass(frozen=True)
class _Bound:
    module: Module
    inputs: Mapping[str, str]


class ModuleProgram:
    """A module as a program: its symbols are its open sizes."""

    def __init__(self, module: Module) -> None:
        self.name = module.name
        self.inputs = {value.name: value.tensor for value in module.inputs}
        self._module = module

    def dims(self, arrays: Mapping[str, Array]) -> dict[str, int]:
        """What the shapes of the inputs say of the open sizes."""
        found: dict[str, int] = {}
        for name, type in self.inputs.items():
            for dim, size in zip(type.shape, arrays[name].shape, strict=True):
                if isinstance(dim, Symbol):
                    found.setdefault(dim.name, size)
        return found

    def key(self, arrays: Mapping[str, Array]) -> Hashable:
        return tuple(sorted(self.dims(arrays).items()))

    def specialised(self, arrays: Mapping[str, Array]) -> Specialised:
        dims = self.dims(arrays)
        module = specialise(self._module, dims) if dims else self._module
        return _Bound(module, {name: name for name in self.inputs})


@dataclass(frozen=True)
class _Ready:
    result: CompileResult
    model: InProcessModel
    inputs: Mapping[str, str]


class DynamicModel:
    """Runs a program in this process, with inputs of any shape that it takes.

    A new shape is compiled when it is met; it comes from the compile cache where any process has met it before. The
    `keep` shapes that were used last stay loaded.

    `buckets` bounds how many shapes are compiled: `{"batch": (1, 4, 16)}` rounds that dimension up to the next of these
    sizes, fills the inputs with zeros at their ends, and cuts the results to what they would have been. That is right
    for a dimension whose places do not depend on each other, as those of a batch do not; only the caller knows. A size
    beyond the largest bucket is compiled as it is.
    """

    def __init__(
        self,
        program: Program,
        *,
        target: str = "llvm",
        opt_level: int = 3,
        threads: int | None = None,
        keep: int = 16,
        buckets: Mapping[str, Sequence[int]] | None = None,
    ) -> None:
        self._program = program
        self._target, self._opt_level, self._threads, self._keep = target, opt_level, threads, keep
        self._buckets = {name: sorted(sizes) for name, sizes in (buckets or {}).items()}
        self._ready: OrderedDict[Hashable, _Ready] = OrderedDict()
        self._shapes: OrderedDict[Hashable, dict[str, Shape]] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def inputs(self) -> Mapping[str, TensorType]:
        """The names and types that `run` takes."""
        return self._program.inputs

    @property
    def shapes_held(self) -> int:
        """How many specialisations are loaded."""
        return len(self._ready)

    @property
    def latest(self) -> CompileResult:
        """The compilation that served the last run."""
        return next(reversed(self._ready.values())).result

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Array]:
        """One inference. Raises E415 for inputs that the program does not take, and what compiling raises."""
        given = self._given(inputs)
        with self._lock:
            filled = self._filled(given) if self._buckets else given
            ready = self._specialisation(filled)
            outputs = ready.model.run({own: filled[name] for name, own in ready.inputs.items()})
            return outputs if filled is given else self._cut(given, outputs)

    def close(self) -> None:
        """Gives everything back. Idempotent."""
        with self._lock:
            while self._ready:
                self._ready.popitem()[1].model.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _specialisation(self, arrays: Mapping[str, Array]) -> _Ready:
        key = self._program.key(arrays)
        if key not in self._ready:
            special = self._program.specialised(arrays)
            key = self._program.key(arrays)  # importing may have found an input that chooses what is computed
            result = compile(special.module, target=self._target, opt_level=self._opt_level)
            self._ready[key] = _Ready(result, load_bundle(result.directory, self._threads), special.inputs)
            while len(self._ready) > self._keep:
                self._ready.popitem(last=False)[1].model.close()
        self._ready.move_to_end(key)
        return self._ready[key]

    def _given(self, inputs: Mapping[str, Any]) -> dict[str, Array]:
        """The inputs as arrays of the rank that the program takes."""
        wanted = self._program.inputs
        wrong = None
        given = {name: np.asarray(value) for name, value in inputs.items()}
        if strange := [name for name in given if name not in wanted]:
            wrong = f"there is no input {strange[0]}"
        elif missing := [name for name in wanted if name not in given]:
            wrong = f"input {', '.join(missing)} is missing"
        else:
            for name, type in wanted.items():
                if given[name].ndim != type.rank:
                    wrong = f"input {name} has the shape {list(given[name].shape)}"
        if wrong is not None:
            types = ", ".join(f"{name}: {type}" for name, type in wanted.items()) or "none"
            raise RequestError("E415", model=self._program.name, what=wrong, inputs=types)
        return given

    def _filled(self, given: dict[str, Array]) -> dict[str, Array]:
        """The inputs, those in between two buckets with zeros up to the larger one."""
        filled: dict[str, Array] = {}
        for name, type in self._program.inputs.items():
            array = given[name]
            more = [
                _next(self._buckets.get(dim.name, ()), size) - size if isinstance(dim, Symbol) else 0
                for dim, size in zip(type.shape, array.shape, strict=True)
            ]
            filled[name] = np.pad(array, [(0, extra) for extra in more]) if any(more) else array
        return given if all(filled[name] is given[name] for name in given) else filled

    def _cut(self, given: Mapping[str, Array], outputs: dict[str, Array]) -> dict[str, Array]:
        """The results at the shapes that these inputs give, which are inferred without compiling anything."""
        key = self._program.key(given)
        if key not in self._shapes:
            module = self._program.specialised(given).module
            types = module.types
            self._shapes[self._program.key(given)] = {
                output.name: type.shape
                for output in module.outputs
                if isinstance(type := types[output.value], TensorType)
            }
            while len(self._shapes) > 64 * self._keep:
                self._shapes.popitem(last=False)
        shapes = self._shapes[self._program.key(given)]
        return {name: array[tuple(slice(dim) for dim in shapes[name])] for name, array in outputs.items()}


def _next(sizes: Sequence[int], size: int) -> int:
    return next((bucket for bucket in sizes if bucket >= size), size)
