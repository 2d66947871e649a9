"""`@rlx.module`: a Python function written in the language becomes a module.

The function is read, never run: its source goes through the parser of `.rlx` files, so the language, its errors and
its limits are the same, and errors point into the user's own file.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from rlx.compiled import Compiled, inputs_by_name
from rlx.compiling import module_of
from rlx.tracing.tracer import Tracer
from rlx_base.errors import RlxError, TextError
from rlx_compiler.source import FolderResolver
from rlx_ir.module import Module
from rlx_ir.text import parse, print_file

__all__ = ["ModuleFunction", "module"]


def module(function: Callable[..., Any]) -> ModuleFunction:
    """The decorator `@rlx.module`. The modules that the function calls stand above it, or are imported.

    Raises what the parser raises: TextError (E0xx) and VerifyError (E1xx), with the place in the user's file.
    """
    return ModuleFunction(function)


class ModuleFunction:
    """A module with the name of the function it was written as. `ir` is the module; calling it runs it.

    ```python
    net.ir                  # the IR; str(net.ir) is its text
    net(x)                  # compiled for this machine at the first call; arrays in the order of its inputs
    net.save("net.rlx")     # the text, with the modules that it calls
    ```
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.ir = _read(function)
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self.__module__ = function.__module__

    @cached_property
    def _compiled(self) -> Compiled:
        return Compiled(self.ir)

    def __call__(self, *arrays: Any, **named: Any) -> Any:
        """One run: the array of the only output, or a dict of all. Raises E415 for inputs that do not fit.

        Inside a function under `@rlx.jit` the module becomes part of what is traced.
        """
        traced = next((given for given in (*arrays, *named.values()) if isinstance(given, Tracer)), None)
        results: Mapping[str, Any]
        if traced is None:
            results = self._compiled.run(arrays, named)
        else:
            given = inputs_by_name(self.ir, arrays, named)
            operands = tuple(traced.trace.value(given[value.name]) for value in self.ir.inputs)
            results = traced.trace.call(self.ir, operands)
        return next(iter(results.values())) if len(results) == 1 else results

    def explain(self) -> str:
        """What the compiler decided, and why; compiles where no call has done so yet."""
        return self._compiled.explain()

    def save(self, path: Path | str) -> Path:
        """Write the module, and those that it calls, as a `.rlx` file."""
        path = Path(path)
        *called, entry = self.ir.modules()
        path.write_text(print_file((entry, *called)), encoding="utf-8")
        return path

    def __repr__(self) -> str:
        inputs = ", ".join(f"{value.name}: {value.type}" for value in self.ir.inputs)
        outputs = ", ".join(f"{output.name}: {self.ir.types[output.value]}" for output in self.ir.outputs)
        return f"<rlx.module {self.ir.name}({inputs}) -> ({outputs})>"


module_of.register(ModuleFunction)(lambda model: model.ir)


def _read(function: Callable[..., Any]) -> Module:
    name = getattr(function, "__name__", str(function))
    try:
        file = inspect.getsourcefile(function) or inspect.getfile(function)
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError) as error:
        raise TextError("E024", name=name, why=str(error)) from None
    indent = len(lines[0]) - len(lines[0].lstrip())
    # Empty lines before it keep every line at its number in the file.
    text = "\n" * (first - 1) + "".join(line[indent:] if not line[:indent].strip() else line for line in lines)
    try:
        return parse(text, file=file, resolver=FolderResolver(Path(file).parent), modules=_named(function))
    except RlxError as error:
        if error.at is not None:
            at = error.at
            error.at = replace(at, column=at.column + indent, end_column=at.end_column + indent)
        whole, _ = inspect.findsource(function)
        error.source = "".join(whole)
        raise


def _named(function: Callable[..., Any]) -> Mapping[str, Module]:
    """The modules that the function can call: those under a name that it can see."""
    seen: dict[str, Any] = dict(function.__globals__)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # assigned further down
            seen[name] = cell.cell_contents
    return {name: value.ir for name, value in seen.items() if isinstance(value, ModuleFunction)}
