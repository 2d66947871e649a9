"""How busy this machine is: a promise in seconds is made for a process that has a core to itself."""

import os

__all__ = ["crowding"]


def crowding() -> float:
    """How many processes share a core of this machine now, at least 1; a time limit is multiplied by it."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
