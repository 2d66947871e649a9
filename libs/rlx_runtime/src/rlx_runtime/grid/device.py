"""What a runner must be able to do with its device: memory, kernels, launches. The rest is `GridProgram`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rlx_wire.manifest import DeviceLaunch

__all__ = ["Device"]


class Device(Protocol):
    """One loaded bundle on one device. A handle is whatever the driver's library calls a buffer."""

    def words(self, dtype: str) -> np.dtype[np.generic] | None:
        """How elements of a dtype lie in the device's memory, where that is not as they lie here."""

    def allocate(self, size: int) -> Any:
        """A buffer of `size` > 0 bytes; its contents are undefined."""

    def write(self, buffer: Any, array: NDArray[np.generic]) -> None:
        """Copies a flat array to the beginning of a buffer."""

    def read(self, buffer: Any, array: NDArray[np.generic]) -> None:
        """Copies the beginning of a buffer to a flat array, after all launches before it."""

    def launch(self, launch: DeviceLaunch, buffers: Sequence[Any]) -> None:
        """Begins a kernel, which runs after those that began before it."""

    def finish(self) -> None:
        """Waits for what began."""

    def close(self) -> None:
        """Gives back all that the device holds for this bundle."""
