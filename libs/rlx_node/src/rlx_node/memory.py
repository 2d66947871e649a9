"""What a node remembers over restarts: its last life, and the last answer about what is deployed.

Files are replaced whole, so that a crash leaves the old one or the new one. What cannot be read is as if it
were not there: a node must start with an empty folder too.
"""

from __future__ import annotations

import logging
import os
import tempfile
from pathlib import Path

from pydantic import ValidationError

from rlx_wire.api import DeploymentList

__all__ = ["NodeMemory"]

_log = logging.getLogger("rlx.node")


class NodeMemory:
    """The folder of one node."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def bundles(self) -> Path:
        """Where bundles lie, each in a folder named by its digest."""
        return self.folder / "bundles"

    @property
    def incarnation(self) -> int:
        """The life this node last had; 0 before the first."""
        try:
            return max(0, int((self.folder / "incarnation").read_text()))
        except (OSError, ValueError):
            return 0

    @incarnation.setter
    def incarnation(self, value: int) -> None:
        self._replace("incarnation", str(value))

    @property
    def deployments(self) -> DeploymentList | None:
        """The last answer of compile-api."""
        try:
            return DeploymentList.model_validate_json((self.folder / "deployments.json").read_bytes())
        except (OSError, ValidationError):
            return None

    @deployments.setter
    def deployments(self, value: DeploymentList) -> None:
        self._replace("deployments.json", value.model_dump_json())

    def _replace(self, name: str, text: str) -> None:
        """A full disk costs the memory of this, not the node."""
        try:
            descriptor, fresh = tempfile.mkstemp(dir=self.folder, prefix=f".{name}-")
            try:
                with os.fdopen(descriptor, "w") as stream:
                    stream.write(text)
                    stream.flush()
                    os.fsync(stream.fileno())
                os.replace(fresh, self.folder / name)
            except BaseException:
                os.unlink(fresh)
                raise
        except OSError as error:
            _log.warning("%s is not remembered: %s", name, error)
