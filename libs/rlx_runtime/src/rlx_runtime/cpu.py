"""Whether this host's CPU can run a bundle: a wrong answer here would be a SIGILL in the middle of a request."""

from __future__ import annotations

import platform

from rlx_base.errors import ArtifactError
from rlx_wire.cpu import host_features, level_for
from rlx_wire.manifest import Manifest

__all__ = ["check_cpu"]


def check_cpu(manifest: Manifest, features: frozenset[str] | None = None) -> None:
    """Raises E306, naming what is missing, unless the host has every feature that the bundle was compiled for."""
    held = host_features() if features is None else features
    missing = [feature for feature in manifest.cpu_features if feature not in held]
    if not missing:
        return
    try:
        level = level_for(held, platform.machine()).name
    except KeyError:
        level = platform.machine()
    raise ArtifactError("E306", expected=f"{manifest.cpu}", found=f"{level} without {', '.join(missing)}", level=level)
