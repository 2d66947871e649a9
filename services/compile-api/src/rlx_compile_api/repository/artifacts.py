"""Committed bundles."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlmodel import Session, col, select
from sqlmodel.sql.expression import SelectOfScalar

from rlx_base.errors import RequestError
from rlx_compile_api.repository.paging import page
from rlx_compile_api.tables import ArtifactRow, VersionRow
from rlx_wire.api import Artifact, Page

__all__ = ["add_artifact", "artifacts_for", "get_artifact", "list_artifacts"]


def add_artifact(session: Session, row: ArtifactRow) -> None:
    """Makes a bundle visible; two tasks may give the same one."""
    if session.get(ArtifactRow, row.digest) is None:
        session.add(row)


def get_artifact(session: Session, digest: str) -> Artifact:
    """Raises E430."""
    row = session.get(ArtifactRow, digest)
    if row is None:
        raise RequestError("E430", what=f"artifact {digest}", hint="`rlx jobs` shows the artifacts of each job")
    return _artifact(row)


def list_artifacts(
    session: Session,
    cursor: str | None,
    limit: int,
    *,
    model: str | None = None,
    version: int | None = None,
    target: str | None = None,
    cpu: str | None = None,
) -> Page[Artifact]:
    """The newest first; `version` counts with `model` only."""
    query: SelectOfScalar[ArtifactRow] = select(ArtifactRow)
    if model is not None:
        programs = select(VersionRow.program_digest).where(VersionRow.model == model)
        if version is not None:
            programs = programs.where(VersionRow.version == version)
        query = query.where(col(ArtifactRow.program_digest).in_(programs))
    if target is not None:
        query = query.where(col(ArtifactRow.target) == target)
    if cpu is not None:
        query = query.where(col(ArtifactRow.cpu) == cpu)
    return page(session, query, [col(ArtifactRow.created_at), col(ArtifactRow.digest)], _artifact, cursor, limit)


def artifacts_for(session: Session, program_digest: str, targets: tuple[str, ...]) -> list[ArtifactRow]:
    """For each of `targets` (`llvm`: on every CPU, `llvm:x86-64-v4`: on that one) and CPU, the newest bundle."""
    query = select(ArtifactRow).where(ArtifactRow.program_digest == program_digest)
    newest: dict[tuple[str, str], ArtifactRow] = {}
    for row in session.exec(query.order_by(col(ArtifactRow.created_at), col(ArtifactRow.digest))):
        if row.target in targets or f"{row.target}:{row.cpu}" in targets:
            newest[row.target, row.cpu] = row
    return [newest[key] for key in sorted(newest)]


def _artifact(row: ArtifactRow) -> Artifact:
    return Artifact(
        digest=row.digest,
        program_digest=row.program_digest,
        target=row.target,
        cpu=row.cpu,
        compiler_version=row.compiler_version,
        bytes=row.bytes,
        created_at=datetime.fromtimestamp(row.created_at, UTC),
    )
