"""Whether this host and this runtime can run a bundle: asked before its code is mapped, answered in words.

The alternative to a check that fails is a SIGILL in the middle of a request.
"""

from __future__ import annotations

import platform
from typing import Final

from rlx_base.errors import ArtifactError
from rlx_runtime.inputs import numpy_dtype
from rlx_wire.cpu import host_features, level_for
from rlx_wire.manifest import Manifest, NativeSegment

__all__ = ["LIBRARY", "check_host"]

LIBRARY: Final = "librlx_kernel.so"


def check_host(manifest: Manifest, features: frozenset[str] | None = None) -> None:
    """Raises E306 for missing CPU features, E310 for a part that this runtime does not know.

    `features` stands for the host's own, for a node that asks on behalf of another.
    """
    if LIBRARY not in manifest.files:
        raise ArtifactError("E310", expected=f"a bundle with {LIBRARY}", found=f"target {manifest.target}")
    for segment in manifest.launch_plan:
        if not isinstance(segment, NativeSegment):
            raise ArtifactError("E310", expected="a launch plan of native calls", found=f"host op {segment.op}")
    for tensor in (*manifest.inputs, *manifest.outputs):
        numpy_dtype(tensor)
    _check_cpu(manifest, host_features() if features is None else features)


def _check_cpu(manifest: Manifest, held: frozenset[str]) -> None:
    missing = [feature for feature in manifest.cpu_features if feature not in held]
    if not missing:
        return
    try:
        level = level_for(held, platform.machine()).name
    except KeyError:
        level = platform.machine()
    raise ArtifactError("E306", expected=manifest.cpu, found=f"{level} without {', '.join(missing)}", level=level)
