"""A module that compiles itself when it is first run, once for each set of dimensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from rlx.compiling import compile
from rlx.dynamic import DynamicModel, ModuleProgram
from rlx_base.errors import RequestError
from rlx_compiler.explain import explanation
from rlx_ir.module import Module

__all__ = ["Compiled", "inputs_by_name"]


class Compiled:
    """Runs a module in this process. Bundles come from the compile cache; what is loaded stays loaded."""

    def __init__(self, module: Module, *, target: str = "llvm", opt_level: int = 3, threads: int | None = None) -> None:
        self._module = module
        self._target, self._opt_level = target, opt_level
        self._model = DynamicModel(ModuleProgram(module), target=target, opt_level=opt_level, threads=threads)

    def run(self, arrays: Sequence[Any], named: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
        """The outputs by name, for inputs by position and by name. Raises E415."""
        return self._model.run(inputs_by_name(self._module, arrays, named))

    def explain(self) -> str:
        """The report of the latest compilation."""
        if not self._model.shapes_held:
            return explanation(compile(self._module, target=self._target, opt_level=self._opt_level).report)
        return explanation(self._model.latest.report)


def inputs_by_name(module: Module, arrays: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """What is given by position and by name, all by name. Raises E415 where an input is given twice or missing."""
    inputs = [value.name for value in module.inputs]
    given = dict(zip(inputs, arrays, strict=False)) | dict(named)
    wrong = None
    if len(arrays) > len(inputs):
        wrong = f"{len(arrays)} inputs are given by position"
    elif twice := [name for name in inputs[: len(arrays)] if name in named]:
        wrong = f"input {twice[0]} is given twice"
    elif missing := [name for name in inputs if name not in given]:
        wrong = f"input {', '.join(missing)} is missing"
    if wrong is not None:
        types = ", ".join(f"{value.name}: {value.type}" for value in module.inputs) or "none"
        raise RequestError("E415", model=module.name, what=wrong, inputs=types)
    return given
