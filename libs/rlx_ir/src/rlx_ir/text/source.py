"""Places in a text, and reading plain values from syntax nodes: numbers, texts, lists, dicts, dtypes."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from typing import Any, Final

from rlx_base.dtypes import DTYPES
from rlx_base.errors import TextError
from rlx_base.span import Span

__all__ = ["DTYPE_NAMES", "Source", "dotted"]

# np.float32 and "float32" mean the same
DTYPE_NAMES: Final = {f"np.{name}": name for name in DTYPES} | {"np.bool_": "bool"}
_NUMBERS: Final = {"np.inf": math.inf, "np.nan": math.nan, "np.pi": math.pi, "np.e": math.e}


def dotted(node: ast.expr) -> str | None:
    """`a.b.c` as one text; None for anything else."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join((node.id, *reversed(names)))


class Source:
    """One file: gives the span of a syntax node, and errors that point at it."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.text = text
        self._lines = text.split("\n")

    def span(self, node: ast.AST) -> Span:
        """The node's place; of several lines, what stands on the first."""
        line: int = getattr(node, "lineno", 1)
        start = self._column(line, getattr(node, "col_offset", 0))
        if getattr(node, "end_lineno", line) == line:
            end = self._column(line, getattr(node, "end_col_offset", 0))
        else:
            end = len(self._lines[line - 1]) + 1
        return Span(self.file, line, start, max(start + 1, end))

    def _column(self, line: int, offset: int) -> int:
        """`ast` counts bytes of UTF-8; people count characters."""
        row = self._lines[line - 1]
        return offset + 1 if row.isascii() else len(row.encode()[:offset].decode(errors="ignore")) + 1

    def error(self, code: str, node: ast.AST, **fields: object) -> TextError:
        return TextError(code, at=self.span(node), **fields)  # type: ignore[arg-type]

    def expected(self, node: ast.AST, what: str, expected: str) -> TextError:
        """E018: what stands here is of another kind."""
        return self.error("E018", node, what=what, expected=expected, found=self.shown(node))

    def shown(self, node: ast.AST) -> str:
        """The node as it is written, cut where it is long."""
        text = self._written(node)
        return text if len(text) <= 40 else text[:37] + "…"

    def _written(self, node: ast.AST) -> str:
        at = self.span(node)
        return self._lines[at.line - 1][at.column - 1 : at.end_column - 1]

    def plain(self, node: ast.expr, what: str) -> Any:
        """A number, text, True, False, None, a dtype, or a list of such. Raises E018 for what would be computed."""
        match node:
            case ast.Constant(value=bool() | int() | float() | str() | None):
                return self.constant(node, what)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd()):
                return self.number(node, what)
            case ast.List(elts=items) | ast.Tuple(elts=items):
                return [self.plain(item, what) for item in items]
            case ast.Attribute():
                name = dotted(node) or ""
                if name in DTYPE_NAMES:
                    return DTYPE_NAMES[name]
                if name in _NUMBERS:
                    return _NUMBERS[name]
        raise self.expected(node, what, "a number, a text, a dtype or a list of these")

    def constant(self, node: ast.Constant, what: str) -> Any:
        value = node.value
        if isinstance(value, int) and not isinstance(value, bool) and not -(1 << 63) <= value < 1 << 64:
            raise self.expected(node, what, "a number of at most 64 bits")
        return value

    def number(self, node: ast.expr, what: str) -> int | float | bool:
        """A number, with its sign."""
        match node:
            case ast.Constant(value=bool() | int() | float()):
                return self.constant(node, what)  # type: ignore[no-any-return]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.number(operand, what)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return +self.number(operand, what)
            case ast.Attribute() if (name := dotted(node)) in _NUMBERS:
                return _NUMBERS[name or ""]
        raise self.expected(node, what, "a number")

    def integer(self, node: ast.expr, what: str) -> int:
        value = self.number(node, what)
        if type(value) is not int:
            raise self.expected(node, what, "a whole number")
        return value

    def string(self, node: ast.expr, what: str) -> str:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value
        raise self.expected(node, what, "a text")

    def items(self, node: ast.expr, what: str) -> list[ast.expr]:
        """The elements of a list or a tuple."""
        if isinstance(node, ast.List | ast.Tuple):
            return node.elts
        raise self.expected(node, what, "a list")

    def entries(self, node: ast.expr, what: str) -> Iterator[tuple[str, ast.expr, ast.expr]]:
        """The entries of a dict with texts as keys: key, its node, value. Raises E018, also for a key given twice."""
        if not isinstance(node, ast.Dict):
            raise self.expected(node, what, "a dict")
        seen: set[str] = set()
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                raise self.expected(value, what, "a dict of texts, without **")
            name = self.string(key, f"a key of {what}")
            if name in seen:
                raise self.error("E018", key, what=f"a key of {what}", expected="given once", found=f"{name!r} again")
            seen.add(name)
            yield name, key, value

    def dtype(self, node: ast.expr, what: str = "dtype") -> str:
        """The name of a dtype, from "float32" or np.float32."""
        name = DTYPE_NAMES.get(dotted(node) or "")
        if name is None and isinstance(node, ast.Constant) and node.value in DTYPES:
            name = str(node.value)
        if name is None and isinstance(node, ast.Name) and node.id in ("float", "int", "bool"):
            name = {"float": "float64", "int": "int64", "bool": "bool"}[node.id]
        if name is None:
            raise self.expected(node, what, f"one of {', '.join(DTYPES)}")
        return name
