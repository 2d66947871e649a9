"""How the canonical text writes numbers, texts, lists, dicts and calls, and how it breaks what is too long for a line.

A `Group` stands on one line where it fits; otherwise each of its items has a line of its own, but lists of plain
numbers fill their lines.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

__all__ = [
    "WIDTH",
    "Arguments",
    "Group",
    "Written",
    "call",
    "flat",
    "mapping",
    "number",
    "quoted",
    "render",
    "sequence",
]

WIDTH: Final = 110
_INDENT: Final = 4


@dataclass(frozen=True, slots=True)
class Group:
    """Items between brackets, each with what stands before it (`name=`, `"key": `)."""

    opening: str
    items: tuple[tuple[str, Written], ...]
    closing: str


Written: TypeAlias = str | Group
Arguments: TypeAlias = list[tuple[str, Written]]  # (name or "", value)


def number(value: bool | int | float | None) -> str:
    """A number (True, False, None) as the parser reads it back to the last bit."""
    if isinstance(value, float):
        if math.isnan(value):
            return "np.nan"
        if math.isinf(value):
            return "np.inf" if value > 0 else "-np.inf"
    return repr(value)


def quoted(text: str) -> str:
    """A text in double quotes, with the language's escapes; what a reader could not see is written as an escape."""
    written = []
    for character in text:
        code = ord(character)
        if character in '\\"':
            written.append("\\" + character)
        elif character in "\n\t":
            written.append("\\n" if character == "\n" else "\\t")
        elif character.isprintable():
            written.append(character)
        else:
            written.append(
                f"\\x{code:02x}" if code < 1 << 8 else f"\\u{code:04x}" if code < 1 << 16 else f"\\U{code:08x}"
            )
    return '"' + "".join(written) + '"'


def sequence(items: Sequence[Written]) -> Group:
    return Group("[", tuple(("", item) for item in items), "]")


def mapping(items: Sequence[tuple[str, Written]]) -> Group:
    return Group("{", tuple((f"{quoted(key)}: ", value) for key, value in items), "}")


def call(targets: Sequence[str], function: str, arguments: Arguments) -> Group:
    """`targets = function(arguments)`."""
    items = tuple((f"{name}=" if name else "", value) for name, value in arguments)
    return Group(f"{', '.join(targets)} = {function}(", items, ")")


def render(written: Written, indent: int, used: int = 0, after: int = 0) -> str:
    """The text of a value at this indentation, `used` columns after it, with room for `after` more behind it."""
    line = flat(written)
    if isinstance(written, str) or indent + used + len(line) + after <= WIDTH or not written.items:
        return line
    inner = indent + _INDENT
    if written.opening == "[" and all(not before and isinstance(item, str) for before, item in written.items):
        rows = _filled([str(item) for _, item in written.items], WIDTH - inner)
    else:
        rows = [before + render(item, inner, len(before), 1) + "," for before, item in written.items]
    pad = " " * inner
    return "\n".join([written.opening, *(pad + row for row in rows), " " * indent + written.closing])


def flat(written: Written) -> str:
    """The value on one line."""
    if isinstance(written, str):
        return written
    return written.opening + ", ".join(before + flat(item) for before, item in written.items) + written.closing


def _filled(items: list[str], width: int) -> list[str]:
    rows: list[str] = []
    row = ""
    for item in items:
        if row and len(row) + len(item) + 2 > width:
            rows.append(row)
            row = ""
        row += f"{' ' if row else ''}{item},"
    return [*rows, row]
