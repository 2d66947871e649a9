"""Named points at which a test ends the process, as a power cut would: inert unless `RLX_FAULT` says otherwise.

`RLX_FAULT=publisher.after-send:/tmp/once` kills the process with SIGKILL when it reaches that point for the first time;
the file is created just before, and while it exists the point is inert, so that the restarted process gets by.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

__all__ = ["reach"]


def reach(point: str) -> None:
    """Ends this process if the test that started it asked for that here."""
    named, _, once = os.environ.get("RLX_FAULT", "").partition(":")
    if named != point:
        return
    try:
        Path(once).touch(exist_ok=False)
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)
