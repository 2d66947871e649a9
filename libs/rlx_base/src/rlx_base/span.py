"""Where in a program's text something stands."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Span"]


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of one line: 1-based line and columns, in characters; `end_column` is exclusive."""

    file: str
    line: int
    column: int
    end_column: int
