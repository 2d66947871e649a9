"""Launching a bundle's kernels on a GPU, one after the other: the same for every kind of device."""

from rlx_runtime.grid.device import Device
from rlx_runtime.grid.program import GridProgram, check_launches

__all__ = ["Device", "GridProgram", "check_launches"]
