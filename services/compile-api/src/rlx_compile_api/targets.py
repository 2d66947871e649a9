"""The targets that a request names, held against those there are: a name that nothing compiles for is refused at once.

A deployment is refused by the same words as a job: kept, it would take a model that runs off its nodes and wait for
ever for code that nobody can make.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from rlx_base.errors import RequestError
from rlx_wire.targets import TARGETS

__all__ = ["split_target"]


def split_target(text: str) -> tuple[str, str]:
    """A target and the device after its colon, or an empty one. Raises E433 where nothing compiles for either.

    `host` is not a name: nobody here knows which host is meant.
    """
    target, _, device = text.partition(":")
    if target not in TARGETS:
        raise RequestError("E433", what=f"nothing compiles for target {target!r}", help=_hint(target, TARGETS))
    devices = TARGETS[target].devices
    if device and device not in devices:
        raise RequestError("E433", what=f"{target} has no {device!r}", help=_hint(device, devices))
    return target, device


def _hint(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
