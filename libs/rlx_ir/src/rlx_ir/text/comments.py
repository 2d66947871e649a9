"""Comments: the IR does not hold them, so a formatter carries them from the text it read to the text it writes.

A comment belongs to the statement that follows it, or that it stands beside, known by module and by the names it
binds. In canonical form each comment stands on lines of its own above its statement.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator

__all__ = ["carry_comments"]

# (module, first bound name or "return"); ("", module) is the head of a module; END is the end of the file.
_Anchor = tuple[str, str]
_END: _Anchor = ("", "")


def carry_comments(source: str, printed: str) -> str:
    """`printed`, the canonical text of the same modules, with the comments of `source`; both parse."""
    comments = _comments(source)
    if not comments:
        return printed
    lines = printed.splitlines()
    heads = {anchor: first for first, _, anchor in _statements(printed)}
    above: dict[int, list[str]] = {}
    for anchor, texts in comments.items():
        module_head = heads.get(("", anchor[0]), 0)
        place = len(lines) if anchor == _END else heads.get(anchor, module_head)
        above.setdefault(place, []).extend(texts)
    written: list[str] = []
    for number, line in enumerate([*lines, ""]):
        indent = line[: len(line) - len(line.lstrip())]
        written += [indent + text for text in above.get(number, [])]
        written.append(line)
    return "\n".join(written[:-1]) + "\n"


def _comments(source: str) -> dict[_Anchor, list[str]]:
    """The comments of a text by the statement that they belong to, in order."""
    statements = list(_statements(source))
    found: dict[_Anchor, list[str]] = {}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        line = token.start[0] - 1
        inside = next((anchor for start, end, anchor in statements if start <= line <= end), None)
        following = next((anchor for start, _, anchor in statements if start >= line), _END)
        found.setdefault(inside or following, []).append(token.string.rstrip())
    return found


def _statements(text: str) -> Iterator[tuple[int, int, _Anchor]]:
    """First and last line (from 0) and anchor of each statement, in order; of a module, those of its head alone."""
    for function in ast.parse(text).body:
        if not isinstance(function, ast.FunctionDef):
            continue
        first = min([function.lineno, *(decorator.lineno for decorator in function.decorator_list)])
        yield first - 1, function.lineno - 1, ("", function.name)
        for statement in function.body:
            end = statement.end_lineno or statement.lineno
            yield statement.lineno - 1, end - 1, (function.name, _name(statement))


def _name(statement: ast.stmt) -> str:
    if isinstance(statement, ast.Assign):
        target = statement.targets[0]
        first = target.elts[0] if isinstance(target, ast.Tuple) and target.elts else target
        return first.id if isinstance(first, ast.Name) else ""
    return "return" if isinstance(statement, ast.Return) else ""
