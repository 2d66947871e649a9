"""Parameters that many routes take."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query

from rlx_wire.api import Digest, Name, VersionNumber

__all__ = ["Cursor", "DigestPath", "Id", "Limit", "NamePath", "VersionPath"]

NamePath = Annotated[Name, Path(description="letters, digits, `.`, `_`, `-`")]
VersionPath = Annotated[VersionNumber, Path()]
DigestPath = Annotated[Digest, Path(description="SHA-256 in hex")]
Id = Annotated[str, Path(pattern=r"^[a-z0-9-]{1,32}$")]
Cursor = Annotated[str | None, Query(max_length=512, description="`next` of the page before")]
Limit = Annotated[int, Query(ge=1, le=200)]
