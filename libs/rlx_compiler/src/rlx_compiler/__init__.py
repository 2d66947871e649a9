"""From meaning to code: passes, loop IR, schedules, emitters, targets and bundles.

The names are imported when they are first asked for: a worker compiles in children and needs no LLVM itself.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from rlx_compiler.driver import compile_module
    from rlx_compiler.isolated import compile_source
    from rlx_compiler.options import CompileOptions, CompileResult, Limits
    from rlx_compiler.version import VERSION

__all__ = ["VERSION", "CompileOptions", "CompileResult", "Limits", "compile_module", "compile_source"]

_HOME: Final = {
    "VERSION": "version",
    "CompileOptions": "options",
    "CompileResult": "options",
    "Limits": "options",
    "compile_module": "driver",
    "compile_source": "isolated",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
