"""A model that is opened once and imported for the inputs at hand, as often as their shapes change.

Most models leave sizes open, and compute shapes from them that no symbolic analysis follows in general. With the
inputs at hand every size is a number, and all of that is folded. The same holds of an input that decides which branch
of an `If` is taken, or how far a `Range` goes: the importer says which inputs it needs to know, and gets their values.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
from numpy.typing import NDArray

from rlx_base.errors import CompileError
from rlx_compiler.onnx.importing import Imported, ImportRefused, import_model
from rlx_compiler.onnx.reading import read_model
from rlx_compiler.onnx.tensors import tensor_type
from rlx_ir.dims import Symbol
from rlx_ir.types import TensorType

__all__ = ["OnnxProgram"]

# An input that becomes part of the program is a switch or a shape, never data.
_MAX_SWITCH: Final = 64


class OnnxProgram:
    """An opened model. `inputs` are its own names and types; open sizes are symbols.

    Raises E214 where the file is no ONNX model, E213 for an input that is no tensor. What cannot be imported for any
    inputs shows when it is imported.
    """

    def __init__(self, model: Path | bytes) -> None:
        self._model: onnx.ModelProto = read_model(model)
        graph = self._model.graph
        initialized = {tensor.name for tensor in graph.initializer}
        self.name: str = graph.name or "main"
        try:
            self.inputs: dict[str, TensorType] = {
                info.name: tensor_type(info.type, info.name) for info in graph.input if info.name not in initialized
            }
        except ValueError as why:
            raise CompileError("E213", count=1, rows=f"an input is {why}; it is run with tensors only") from None
        self._switches: set[str] = set()

    def key(self, arrays: Mapping[str, NDArray[Any]]) -> Hashable:
        """Inputs with equal keys are served by one specialisation."""
        dims = tuple(sorted(self.dims(arrays).items()))
        return dims, tuple((name, arrays[name].tobytes()) for name in sorted(self._switches))

    def dims(self, arrays: Mapping[str, NDArray[Any]]) -> dict[str, int]:
        """What the shapes of the inputs say of the open sizes."""
        return {
            dim.name: size
            for name, type in self.inputs.items()
            for dim, size in zip(type.shape, arrays[name].shape, strict=True)
            if isinstance(dim, Symbol)
        }

    def specialised(self, arrays: Mapping[str, NDArray[Any]]) -> Imported:
        """The model for inputs of these shapes, and these values where they choose what is computed. Raises E213."""
        dims = self.dims(arrays)
        while True:
            try:
                return import_model(self._model, dims, {name: arrays[name] for name in self._switches}, {})
            except ImportRefused as refused:
                needed = {name for problem in refused.problems for name in problem.needs if _is_switch(arrays[name])}
                if needed <= self._switches:
                    raise
                self._switches |= needed


def _is_switch(array: NDArray[Any]) -> bool:
    return array.size <= _MAX_SWITCH and (array.dtype == np.bool_ or np.issubdtype(array.dtype, np.integer))
