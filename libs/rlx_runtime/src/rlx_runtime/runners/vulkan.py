"""Vulkan through the `vulkan` package: any GPU with a driver, and lavapipe, Mesa's for CPUs."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Final

from rlx_runtime.grid import GridProgram, check_launches
from rlx_runtime.grid.vulkan import VulkanDevice, physical_devices
from rlx_runtime.program import Program, map_weights
from rlx_runtime.runners.registry import Runner, missing_packages
from rlx_runtime.team import ThreadTeam
from rlx_wire.manifest import Manifest

__all__ = ["RUNNER"]

_SUFFIX: Final = ".spv"


@cache
def _devices() -> list[Any]:
    return physical_devices()


def _unusable() -> str | None:
    missing = missing_packages("vulkan", "vulkan")
    if missing is not None:
        return missing
    try:
        found = _devices()
    except Exception as error:
        return str(error) or type(error).__name__
    return None if found else "the Vulkan loader lists no device; Debian has one for CPUs: mesa-vulkan-drivers"


def _check(manifest: Manifest, features: frozenset[str] | None) -> None:
    del features
    check_launches(manifest)


def _load(directory: Path, manifest: Manifest, team: ThreadTeam, device: int) -> Program:
    del team
    modules = {
        name.removesuffix(_SUFFIX): (directory / name).read_bytes() for name in manifest.files if name.endswith(_SUFFIX)
    }
    return GridProgram(manifest, VulkanDevice(_devices()[device], modules), map_weights(directory, manifest))


RUNNER: Final = Runner("vulkan", frozenset({"vulkan"}), "vulkan", _unusable, _check, _load)
