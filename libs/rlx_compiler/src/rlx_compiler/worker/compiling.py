"""The seam between a worker and the compiler: how one attempt's program is compiled."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Protocol

from rlx_compiler.options import CompileOptions, CompileResult, Limits, Progress

__all__ = ["Compile"]


class Compile(Protocol):
    """Compiles `source` into the bundle folder `output`.

    Raises RlxError where the program or the limits are at fault, and may raise anything once `over` is set: it then
    ends its child at once, and nobody looks at the result.
    """

    def __call__(
        self,
        source: Path,
        options: CompileOptions,
        output: Path,
        *,
        limits: Limits,
        progress: Progress,
        over: threading.Event,
    ) -> CompileResult: ...
