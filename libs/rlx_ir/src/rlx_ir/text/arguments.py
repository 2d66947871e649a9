"""The arguments of a call, bound to names."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from rlx_ir.op import nearest
from rlx_ir.text.source import Source

__all__ = ["Arguments", "bind"]

Arguments = dict[str, ast.expr]


def keywords(source: Source, call: ast.Call) -> dict[str, ast.keyword]:
    """The keyword arguments by name. `**` is not part of the language."""
    named: dict[str, ast.keyword] = {}
    for keyword in call.keywords:
        if keyword.arg is None:
            raise source.error("E010", keyword.value, what="`**` in a call", hint="")
        named[keyword.arg] = keyword  # a keyword given twice is already a syntax error
    return named


def positional(source: Source, call: ast.Call) -> Sequence[ast.expr]:
    """The positional arguments. `*` is not part of the language."""
    for argument in call.args:
        if isinstance(argument, ast.Starred):
            raise source.error("E010", argument, what="`*` in a call", hint="")
    return call.args


def bind(
    source: Source, call: ast.Call, what: str, parameters: Sequence[str], required: Sequence[str] = ()
) -> Arguments:
    """The call's arguments by parameter name. Raises E016 for an unknown one, E017 for a missing one."""
    known = ", ".join(parameters)
    given: Arguments = {}
    arguments = positional(source, call)
    if len(arguments) > len(parameters):
        extra = arguments[len(parameters)]
        raise source.error("E016", extra, call=what, name=source.shown(extra), hint="", known=known)
    given.update(zip(parameters, arguments, strict=False))
    for name, keyword in keywords(source, call).items():
        if name not in parameters:
            raise source.error("E016", keyword, call=what, name=name, hint=nearest(name, parameters), known=known)
        if name in given:
            raise source.error("E016", keyword, call=what, name=name, hint="; it is given twice", known=known)
        given[name] = keyword.value
    for name in required:
        if name not in given:
            raise source.error("E017", call.func, call=what, name=name, known=known)
    return given
