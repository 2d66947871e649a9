"""The statements of one module: inputs, assignments in single-assignment form, and `return`."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Final

from rlx_base.errors import VerifyError
from rlx_ir.builder import ModuleBuilder
from rlx_ir.constants.stored import Files
from rlx_ir.module import Module
from rlx_ir.op import nearest
from rlx_ir.text.calls import LATER, call_module, call_op
from rlx_ir.text.constants import ConstantReader
from rlx_ir.text.operators import apply_operator, call_method
from rlx_ir.text.scope import Names
from rlx_ir.text.source import Source, dotted
from rlx_ir.text.types import read_type

__all__ = ["MAX_OUTPUT_NAME", "RESERVED", "Body"]

RESERVED: Final = frozenset({"rlx", "np"})
MAX_OUTPUT_NAME: Final = 200


class Body:
    """Reads one function under `@rlx.module`. `modules` gives the modules of the file that it may call."""

    def __init__(
        self,
        source: Source,
        function: ast.FunctionDef,
        modules: Callable[[ast.Name], Module],
        module_names: frozenset[str],
        files: Files,
    ) -> None:
        self.source = source
        self._function = function
        self._modules = modules
        self._module_names = module_names
        assigned = frozenset(
            node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        )
        self.builder = ModuleBuilder(function.name, reserved=assigned)
        self.constants = ConstantReader(source, function.name, files)
        self._aliases: dict[str, str] = {}  # y = x gives no new value
        self._lines: dict[str, int] = {}

    def read(self) -> Module:
        """The module. Raises TextError and VerifyError."""
        function = self._function
        self._parameters(function.args)
        statements = function.body
        if isinstance(statements[0], ast.Expr) and ast.get_docstring(function, clean=False) is not None:
            statements = statements[1:]  # for people
        for place, statement in enumerate(statements):
            if isinstance(statement, ast.Return):
                if place != len(statements) - 1:
                    raise self.source.error(
                        "E014", statements[place + 1], name=function.name, what="goes on after its return"
                    )
                self._return(statement)
                return self.builder.build(self.source.span(function))
            self._statement(statement)
        raise self.source.error("E014", function, name=function.name, what="returns nothing")

    # ── inputs ──

    def _parameters(self, arguments: ast.arguments) -> None:
        for refused, what in (
            (arguments.vararg, "`*` in parameters"),
            (arguments.kwarg, "`**` in parameters"),
            (next(iter(arguments.posonlyargs + arguments.kwonlyargs), None), "`/` or `*` between parameters"),
            (next((default for default in arguments.defaults), None), "a default for a parameter"),
        ):
            if refused is not None:
                raise self.source.error("E010", refused, what=what, hint="")
        for argument in arguments.args:
            declaration = argument.annotation
            call = self._declares_input(declaration) if declaration is not None else None
            if not isinstance(declaration, ast.Call) or call is None:
                raise self.source.error(
                    "E018",
                    argument if declaration is None else declaration,
                    what=f"parameter {argument.arg!r}",
                    expected='typed, as in x: rlx.tensor(shape=[1, 3], dtype="float32")',
                    found="without a type" if declaration is None else self.source.shown(declaration),
                )
            self._input(argument, argument.arg, declaration, call)

    def _declares_input(self, node: ast.expr | None) -> str | None:
        """`rlx.tensor` or `rlx.scalar`, where a node declares an input."""
        name = dotted(node.func) if isinstance(node, ast.Call) else None
        return name if name in ("rlx.tensor", "rlx.scalar") else None

    def _input(self, at: ast.AST, name: str, call: ast.Call, what: str) -> None:
        self._claim(at, name)
        self.builder.input(name, read_type(self.source, call, what), self.source.span(at))

    # ── statements ──

    def _statement(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name) as target], value=value):
                if isinstance(value, ast.Call) and (what := self._declares_input(value)) is not None:
                    self._input(target, name, value, what)
                elif isinstance(value, ast.Name):
                    kept = self.value(value)
                    self._claim(target, name)
                    self._aliases[name] = kept
                else:
                    self._claim(target, name)
                    self._assign(target, value, (name,))
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
                names = []
                for target in targets:
                    if not isinstance(target, ast.Name):
                        raise self.source.error("E010", target, what="assigning to anything but names", hint="")
                    self._claim(target, target.id)
                    names.append(target.id)
                self._assign(targets[0], value, tuple(names))
            case ast.Assign(targets=[target, *_]):
                raise self.source.error("E010", target, what="assigning to anything but new names", hint="")
            case ast.Expr(value=value):
                name = (dotted(value.func) or "") if isinstance(value, ast.Call) else ""
                if name.removeprefix("rlx.") in LATER:
                    raise self.source.error("E011", value, what=f"`{name}`")
                raise self.source.error(
                    "E010", statement, what="a statement whose value is not used", hint="; bind it to a name"
                )
            case ast.FunctionDef():
                raise self.source.error(
                    "E010", statement, what="a function inside a module", hint="; put it beside the module"
                )
            case ast.AugAssign():
                raise self.source.error(
                    "E010", statement, what="changing a value", hint="; give the new value a name of its own"
                )
            case _:
                raise self.source.error("E010", statement, what="this statement", hint="")

    def _assign(self, target: ast.AST, value: ast.expr, names: tuple[str, ...]) -> None:
        given = self.evaluate(value, names)
        if len(given) != len(names):
            raise VerifyError(
                "E106", at=self.source.span(target), op=self.source.shown(value), results=len(given), names=len(names)
            )

    def _claim(self, at: ast.AST, name: str) -> None:
        """A name is assigned once."""
        if name in RESERVED:
            raise self.source.error("E007", at, name=name, why="it stands for the library")
        if name in self._lines:
            raise VerifyError("E105", at=self.source.span(at), name=name, line=self._lines[name])
        self._lines[name] = getattr(at, "lineno", 0)

    # ── results ──

    def _return(self, statement: ast.Return) -> None:
        match statement.value:
            case None:
                raise self.source.error("E014", statement, name=self._function.name, what="returns nothing")
            case ast.Dict() as named:
                outputs = [
                    (self._output_name(key, name), node) for name, key, node in self.source.entries(named, "outputs")
                ]
            case ast.Tuple(elts=items) | ast.List(elts=items) if len(items) != 1:
                outputs = [(f"output{place}", item) for place, item in enumerate(items)]
            case ast.Tuple(elts=[only]) | ast.List(elts=[only]):
                outputs = [("output", only)]
            case value:
                values = self.evaluate(value)
                names = ["output"] if len(values) == 1 else [f"output{place}" for place in range(len(values))]
                for name, given in zip(names, values, strict=True):
                    self.builder.output(name, given)
                return
        if not outputs:
            raise self.source.error("E014", statement, name=self._function.name, what="returns nothing")
        for name, node in outputs:
            self.builder.output(name, self.value(node))

    def _output_name(self, key: ast.expr, name: str) -> str:
        if not name or len(name) > MAX_OUTPUT_NAME:
            raise self.source.error("E007", key, name=name[:40], why=f"an output has 1 to {MAX_OUTPUT_NAME} characters")
        return name

    # ── expressions ──

    def value(self, node: ast.expr, names: Names = None) -> str:
        values = self.evaluate(node, names)
        if len(values) != 1:
            raise VerifyError(
                "E106", at=self.source.span(node), op=self.source.shown(node), results=len(values), names=1
            )
        return values[0]

    def evaluate(self, node: ast.expr, names: Names = None) -> tuple[str, ...]:
        match node:
            case ast.Name(id=name):
                return (self._lookup(node, name),)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="rlx"), attr=name)):
                return call_op(self, node, name, names)
            case ast.Call(func=ast.Name(id="abs")) if not self.is_module("abs"):
                return (apply_operator(self, node, names),)
            case ast.Call(func=ast.Name() as name):
                return call_module(self, node, name, names)
            case ast.Call(func=ast.Attribute(attr=method)) if (dotted(node.func) or "").split(".")[0] not in RESERVED:
                return (call_method(self, node, method, names),)
            case ast.Call():
                name = dotted(node.func) or ""
                hint = "; constants are made in rlx.constant(value=…)" if name.startswith("np.") else ""
                raise self.source.error("E010", node.func, what=f"calling {self.source.shown(node.func)}", hint=hint)
            case ast.BinOp() | ast.UnaryOp() | ast.Compare() | ast.Subscript():
                return (apply_operator(self, node, names),)
            case ast.Constant() | ast.List():
                raise self.source.expected(node, "a value", "a tensor: rlx.constant(value=…) makes one")
        raise self.source.error("E010", node, what="this expression", hint="")

    def _lookup(self, node: ast.AST, name: str) -> str:
        kept = self._aliases.get(name, name)
        if kept not in self.builder or name not in self._lines:
            known = [*self._lines]
            hint = "; it is a module, call it" if self.is_module(name) else nearest(name, known)
            raise self.source.error("E015", node, name=name, hint=hint)
        return kept

    def is_module(self, name: str) -> bool:
        return name in self._module_names

    def module(self, node: ast.expr) -> Module:
        if not isinstance(node, ast.Name):
            raise self.source.expected(node, "a module", "the name of a module of this file")
        return self._modules(node)
