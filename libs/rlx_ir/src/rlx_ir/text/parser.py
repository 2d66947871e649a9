"""From the text of a file to its modules."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from rlx_base.errors import TextError
from rlx_base.span import Span
from rlx_ir.constants.stored import Files, Resolver
from rlx_ir.module import Module
from rlx_ir.op import nearest
from rlx_ir.text.body import RESERVED, Body
from rlx_ir.text.calls import LATER
from rlx_ir.text.lexing import DEFAULT_LIMITS, Limits, check, decode
from rlx_ir.text.source import Source, dotted

__all__ = ["File", "parse", "parse_file"]

MAX_EXPANDED_NODES: Final = 1_000_000
MAX_CALL_DEPTH: Final = 24
NO_MODULES: Final[Mapping[str, Module]] = {}


@dataclass(frozen=True)
class File:
    """The modules of a text in its order, and the one that runs."""

    modules: tuple[Module, ...]
    entry: Module


def parse(
    text: str | bytes,
    *,
    file: str = "<text>",
    resolver: Resolver | None = None,
    limits: Limits = DEFAULT_LIMITS,
    modules: Mapping[str, Module] = NO_MODULES,
) -> Module:
    """The entry module of a text: `main`, or the first. The modules that it calls are in its nodes' regions.

    Nothing of the text is executed. `resolver` gives the files that constants name; `modules` may be called beside
    those of the text. Raises TextError (E0xx) and VerifyError (E1xx), with the place; `error.render(text)` shows it.
    """
    return parse_file(text, file=file, resolver=resolver, limits=limits, modules=modules).entry


def parse_file(
    text: str | bytes,
    *,
    file: str = "<text>",
    resolver: Resolver | None = None,
    limits: Limits = DEFAULT_LIMITS,
    modules: Mapping[str, Module] = NO_MODULES,
) -> File:
    """All modules of a text. Raises as `parse`."""
    if isinstance(text, bytes):
        if len(text) > limits.bytes:
            raise TextError("E001", at=Span(file, 1, 1, 2), what="bytes", limit=limits.bytes)
        text = decode(text, file)
    text = check(text, file, limits)
    try:
        tree = ast.parse(text)
    except SyntaxError as wrong:
        line, column = wrong.lineno or 1, max(1, wrong.offset or 1)
        raise TextError("E006", at=Span(file, line, column, column + 1), why=wrong.msg) from None
    except (
        RecursionError,
        MemoryError,
        ValueError,
    ) as wrong:  # the bounds above make these unreachable, as far as known
        raise TextError(
            "E006", at=Span(file, 1, 1, 2), why=f"Python's parser gives up ({type(wrong).__name__})"
        ) from None
    return _FileParser(Source(file, text), tree, Files(resolver), modules).read()


class _FileParser:
    def __init__(self, source: Source, tree: ast.Module, files: Files, known: Mapping[str, Module]) -> None:
        self._source, self._files, self._known = source, files, known
        self._functions: dict[str, ast.FunctionDef] = {}
        self._done: dict[str, Module] = {}
        self._expanded: dict[str, int] = {}
        self._depth: dict[str, int] = {}
        self._running: list[str] = []
        for place, statement in enumerate(tree.body):
            self._declare(statement, first=place == 0)

    def _declare(self, statement: ast.stmt, *, first: bool) -> None:
        source = self._source
        match statement:
            case ast.Expr(value=ast.Constant(value=str())) if first:  # the file's docstring
                return
            case ast.FunctionDef(name=name):
                self._check_decorators(statement)
                if statement.returns is not None:
                    raise source.error("E010", statement.returns, what="a type after `->`", hint="; types are inferred")
                if name in RESERVED:
                    raise source.error("E007", statement, name=name, why="it stands for the library")
                if name in self._functions:
                    raise source.error("E013", statement, name=name, line=self._functions[name].lineno)
                self._functions[name] = statement
            case _:
                raise source.error("E012", statement, what=f"`{source.shown(statement)}`")

    def _check_decorators(self, function: ast.FunctionDef) -> None:
        source, marked = self._source, False
        for decorator in function.decorator_list:
            name = dotted(decorator.func if isinstance(decorator, ast.Call) else decorator) or ""
            if name.startswith("rlx.") and name.removeprefix("rlx.") in LATER:
                raise source.error("E011", decorator, what=f"`@{name}`")
            if name != "rlx.module" or isinstance(decorator, ast.Call) or marked:
                raise source.error(
                    "E010",
                    decorator,
                    what=f"the decorator `@{source.shown(decorator)}`",
                    hint=nearest(name, ["rlx.module"]),
                )
            marked = True
        if not marked:
            raise source.error("E012", function, what=f"function {function.name!r} without @rlx.module")

    def read(self) -> File:
        if not self._functions:
            raise TextError("E012", at=Span(self._source.file, 1, 1, 2), what="no module at all: everything")
        modules = tuple(self._module(name, function) for name, function in self._functions.items())
        return File(modules, self._done.get("main", modules[0]))

    def _called(self, name: ast.Name) -> Module:
        function = self._functions.get(name.id)
        if function is None and name.id in self._known:
            return self._outside(self._known[name.id])
        if function is None:
            known = [*self._functions, *self._known]
            raise self._source.error("E021", name, name=name.id, hint=nearest(name.id, known))
        if name.id == "main":
            raise self._source.error("E007", name, name="main", why="it is the module that runs, and cannot be called")
        if name.id in self._running:
            raise self._source.error("E019", name, name=name.id)
        if len(self._running) >= MAX_CALL_DEPTH:
            raise self._source.error("E002", name, limit=MAX_CALL_DEPTH)
        return self._module(name.id, function)

    def _outside(self, module: Module) -> Module:
        """A module that was read before; it counts towards the same bounds."""
        if module.name not in self._expanded:
            called = [region for node in module.nodes for region in node.regions]
            for region in called:
                self._outside(region)
            self._expanded[module.name] = len(module.nodes) + sum(self._expanded[region.name] for region in called)
            self._depth[module.name] = 1 + max((self._depth[region.name] for region in called), default=0)
        return module

    def _module(self, name: str, function: ast.FunctionDef) -> Module:
        if name not in self._done:
            self._running.append(name)
            names = frozenset((*self._functions, *self._known))
            module = Body(self._source, function, self._called, names, self._files).read()
            self._running.pop()
            calls = [region.name for node in module.nodes for region in node.regions]
            # Small texts can call exponentially often: what a module comes to when all calls are inlined is bounded.
            self._expanded[name] = len(module.nodes) + sum(self._expanded[called] for called in calls)
            self._depth[name] = 1 + max((self._depth[called] for called in calls), default=0)
            if self._expanded[name] > MAX_EXPANDED_NODES:
                raise self._source.error("E020", function, name=name, limit=MAX_EXPANDED_NODES)
            if self._depth[name] > MAX_CALL_DEPTH:
                raise self._source.error("E002", function, limit=MAX_CALL_DEPTH)
            self._done[name] = module
        return self._done[name]
