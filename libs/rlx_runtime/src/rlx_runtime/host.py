"""Whether this host and this runtime can run a bundle: asked before its code is mapped, answered in words."""

from __future__ import annotations

from rlx_runtime.runners.registry import Runner, find_runner
from rlx_wire.manifest import Manifest

__all__ = ["check_host"]


def check_host(manifest: Manifest, features: frozenset[str] | None = None) -> Runner:
    """What runs the bundle here.

    `features` stands for the host's own CPU features, for a node that asks on behalf of another. Raises E306 for
    missing CPU features, E310 for a part that this runtime does not know, E312 for a missing package or driver.
    """
    runner = find_runner(manifest.target)
    runner.check(manifest, features)
    return runner
