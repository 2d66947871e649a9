"""The names of the language as Python sees them: known to editors, and refused where they would be run.

Inside a function under `@rlx.module` these names are read, never called. Whoever calls one elsewhere is told so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NoReturn

from rlx_base.errors import TextError

__all__ = ["DECLARATIONS", "names", "outside"]

DECLARATIONS: Final = ("tensor", "scalar", "constant", "cond")


def names() -> tuple[str, ...]:
    """Everything that may stand after `rlx.` in a module."""
    import rlx_ir.ops  # noqa: F401  registers all ops
    from rlx_ir.op import OPS
    from rlx_ir.regions import RegionOp

    return (*DECLARATIONS, *sorted(name for name, op in OPS.items() if not issubclass(op, RegionOp)))


class Declaration:
    """What `rlx.tensor(…)` gives when Python itself runs it: as the annotation of a module's parameter, and for no
    other use (E023)."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> NoReturn:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        raise TextError("E023", name=self._name)


def outside(name: str) -> Callable[..., Any]:
    """What `rlx.NAME` is in plain Python: a function that says where the name belongs (E023)."""
    if name in ("tensor", "scalar"):
        return lambda **_: Declaration(name)

    def refuse(*_: object, **__: object) -> NoReturn:
        raise TextError("E023", name=name)

    refuse.__name__ = refuse.__qualname__ = name
    return refuse
