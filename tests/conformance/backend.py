"""The backend that `onnx.backend.test` drives.

A model is imported and its outputs are computed by the *interpreter* or by kernels compiled for a target. Nothing is
folded from the test's inputs; where an input says a shape that the model leaves open (the target of a Reshape, the axes
of a reduction), the model is imported for the value that it has, and the test is counted apart, as *specialised*.
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
from rlx_base.errors import RlxError
from rlx_compiler import CompileOptions, compile_module
from rlx_compiler.onnx import import_onnx
from rlx_compiler.onnx.importing import Imported, ImportRefused
from rlx_ir.interpreter import bind_dims
from rlx_ir.specialise import specialise
from rlx_runtime import load

__all__ = ["RlxBackend", "Run"]

os.environ.setdefault("ONNX_HOME", tempfile.gettempdir())
Array = NDArray[Any]


@dataclass
class Run(BackendRep):
    """A model that waits for inputs, which come in the order of the graph's own inputs, without initializers."""

    model: onnx.ModelProto
    engine: str
    specialised: list[str] = field(default_factory=list)

    def run(self, inputs: Sequence[Any], **_: Any) -> tuple[Any, ...]:
        initialized = {tensor.name for tensor in self.model.graph.initializer}
        names = [info.name for info in self.model.graph.input if info.name not in initialized]
        given = {name: np.asarray(value) for name, value in zip(names, inputs, strict=False)}
        imported = self._imported(given)
        arrays = {inner: given[name] for name, inner in imported.inputs.items()}
        if self.engine == "interpreter":
            return tuple(rlx_ir.run(imported.module, arrays).values())
        with tempfile.TemporaryDirectory() as folder:
            bundle = Path(folder) / "bundle"
            module = specialise(imported.module, bind_dims(imported.module, arrays))
            compile_module(module, CompileOptions(self.engine, opt_level=1), bundle)
            with load(bundle, threads=1) as loaded:
                return tuple(loaded.run(arrays).values())

    def _imported(self, given: dict[str, Array]) -> Imported:
        """The module; inputs become part of it only where the import says that it needs them."""
        known: dict[str, Array] = {}
        for _ in range(len(given) + 1):
            try:
                return import_onnx(self.model.SerializeToString(), values=known)
            except ImportRefused as refused:
                needed = frozenset[str]().union(*(problem.needs for problem in refused.problems)) - known.keys()
                if not needed:
                    raise
                known |= {name: given[name] for name in needed}
                self.specialised = sorted(known)
        raise AssertionError("an import asks for inputs that it has")


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
