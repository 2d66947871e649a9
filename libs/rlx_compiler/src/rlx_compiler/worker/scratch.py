"""Where a worker does its work: a folder of its own, and the removal of what killed workers left beside it."""

from __future__ import annotations

import fcntl
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

__all__ = ["scratch_folder"]

_PREFIX: Final = "worker-"
_LOCK: Final = "lock"


@contextmanager
def scratch_folder(data_folder: Path) -> Iterator[Path]:
    """A folder for this process and those it forks. While one of them lives it is locked; one without a lock is left
    over, and the next worker that starts removes it.
    """
    data_folder.mkdir(parents=True, exist_ok=True)
    # One at a time, so that nobody takes a folder that was just made, and is not locked yet, for left over.
    with (data_folder / _LOCK).open("w") as starting:
        fcntl.flock(starting, fcntl.LOCK_EX)
        for folder in data_folder.glob(f"{_PREFIX}*"):
            if _is_left_over(folder):
                shutil.rmtree(folder, ignore_errors=True)
        mine = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=data_folder))
        held = (mine / _LOCK).open("w")
        fcntl.flock(held, fcntl.LOCK_EX)
    try:
        yield mine
    finally:
        held.close()
        shutil.rmtree(mine, ignore_errors=True)


def _is_left_over(folder: Path) -> bool:
    with (folder / _LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True
