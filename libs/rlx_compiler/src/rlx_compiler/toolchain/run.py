"""Running a compiler or linker as a program: from a scratch folder, in a fixed environment."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from rlx_base.errors import CompileError

__all__ = ["run_tool"]

# What a tool may see of the environment. The language is fixed, and nothing may change what a compiler does.
_KEPT = ("PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH")


def run_tool(command: Sequence[str], folder: Path) -> str:
    """Runs a tool in `folder` and gives what it wrote to its output. Raises E204 where it is missing, E205 where it
    fails."""
    name = Path(command[0]).name
    environment = {key: os.environ[key] for key in _KEPT if key in os.environ} | {"LC_ALL": "C"}
    try:
        done = subprocess.run(
            list(command), cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
    except FileNotFoundError:
        raise CompileError("E204", tool=name, hint=f"install {name}") from None
    if done.returncode != 0:
        raise CompileError("E205", tool=name, caused_by=(done.stderr or done.stdout).strip()[-4000:])
    return done.stdout
