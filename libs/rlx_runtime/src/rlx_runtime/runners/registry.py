"""Finding the runner of a bundle: every module of this package that defines `RUNNER` is one."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from rlx_base.errors import ArtifactError
from rlx_wire.manifest import Manifest

if TYPE_CHECKING:
    from rlx_runtime.program import Program
    from rlx_runtime.team import ThreadTeam

__all__ = ["Runner", "find_runner", "missing_packages", "runners", "served_targets"]

Load = Callable[[Path, Manifest, "ThreadTeam", int], "Program"]
"""From a checked bundle's folder, its manifest, a team of threads and a device's number to a loaded program."""


@dataclass(frozen=True, slots=True)
class Runner:
    """How the bundles of some targets are run.

    `device` is the kind of device that does it (`cpu`, `opencl`, …, as in `rlx_runtime.devices`). `unusable` says why
    nothing can be run here (a package or driver that is missing), or gives None; it never raises. `check` raises E306
    or E310 for a bundle that cannot run here; its second argument stands for the host's CPU features, None for
    those that it has. `emulated`: right answers at a fraction of the speed, for tests and not for serving.
    """

    name: str
    targets: frozenset[str]
    device: str
    unusable: Callable[[], str | None]
    check: Callable[[Manifest, frozenset[str] | None], None]
    load: Load
    emulated: bool = False


@cache
def runners() -> Mapping[str, Runner]:
    """Every runner by its name, sorted."""
    package = importlib.import_module("rlx_runtime.runners")
    found: dict[str, Runner] = {}
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        runner = getattr(importlib.import_module(module.name), "RUNNER", None)
        if isinstance(runner, Runner):
            found[runner.name] = runner
    return dict(sorted(found.items()))


def find_runner(target: str) -> Runner:
    """What runs the bundles of a target. Raises E310 where nothing does, E312 where it is not usable here."""
    runner = next((one for one in runners().values() if target in one.targets), None)
    if runner is None:
        known = sorted(name for one in runners().values() for name in one.targets)
        raise ArtifactError("E310", expected=f"a bundle for one of {', '.join(known)}", found=f"target {target}")
    reason = runner.unusable()
    if reason is not None:
        raise ArtifactError("E312", target=target, why=reason)
    return runner


def served_targets(device: str) -> tuple[str, ...]:
    """The targets whose bundles a device of this kind serves here, sorted: an emulator serves nothing."""
    usable = [one for one in runners().values() if one.device == device and not one.emulated]
    return tuple(sorted(target for one in usable if one.unusable() is None for target in one.targets))


def missing_packages(extra: str, *packages: str) -> str | None:
    """For `Runner.unusable`: which Python packages are missing, and the extra that brings them; None for none."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    return f"{', '.join(missing)} is missing: pip install 'rlx-runtime[{extra}]'" if missing else None
