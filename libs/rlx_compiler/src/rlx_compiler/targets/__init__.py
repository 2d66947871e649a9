"""The targets, one file each: what the device is, how code for it is emitted and built, which files a bundle gets.

Adding a target is adding a file here that defines `TARGET`; nothing else has to know of it.
"""

from __future__ import annotations

from rlx_compiler.targets.registry import Built, Resolved, Target, find_target, resolve, target_names, usable_targets
from rlx_compiler.targets.spec import MemorySpace, TargetSpec

__all__ = [
    "Built",
    "MemorySpace",
    "Resolved",
    "Target",
    "TargetSpec",
    "find_target",
    "resolve",
    "target_names",
    "usable_targets",
]
