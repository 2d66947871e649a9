"""What the cost model may do at each optimisation level."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

__all__ = ["EFFORTS", "FULL", "Effort"]


@dataclass(frozen=True, slots=True)
class Effort:
    """What is chosen where the author asked for nothing."""

    unroll: bool = True
    vectors: bool = True
    pack: bool = True
    algorithms: bool = True


FULL: Final = Effort()
_NONE: Final = Effort(unroll=False, vectors=False, pack=False, algorithms=False)
EFFORTS: Final[Mapping[int, Effort]] = {
    0: _NONE,
    1: _NONE,
    2: Effort(vectors=False, pack=False, algorithms=False),
    3: FULL,
}
