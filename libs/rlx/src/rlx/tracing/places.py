"""Where in the user's own file a traced operation stands, so that errors can show it with a caret."""

from __future__ import annotations

import linecache
import sys
from itertools import islice
from types import FrameType

from rlx_base.errors import RlxError
from rlx_base.span import Span

__all__ = ["locate", "user_span"]

_OURS = ("rlx", "rlx_ir", "numpy")


def user_span() -> Span | None:
    """The expression that is being evaluated in the nearest frame that is neither of RLX nor of NumPy."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] in _OURS:
        frame = frame.f_back
    if frame is None:
        return None
    file = frame.f_code.co_filename
    line, end_line, start, end = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None))
    if line is None:
        return None
    row = linecache.getline(file, line).rstrip("\n")
    if start is None or end is None:
        return Span(file, line, 1, len(row) + 1)

    def column(offset: int) -> int:
        return len(row.encode()[:offset].decode(errors="ignore")) + 1

    return Span(file, line, column(start), column(end) if end_line == line else len(row) + 1)


def locate(error: RlxError) -> RlxError:
    """The error with its place, where it has none yet, and the text of the file that it points into."""
    error.at = error.at or user_span()
    if error.at is not None and error.source is None:
        error.source = "".join(linecache.getlines(error.at.file)) or None
    return error
