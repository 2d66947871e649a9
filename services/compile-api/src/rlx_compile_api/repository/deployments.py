"""Deployments, and the counter that tells nodes that something about them changed."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

from sqlmodel import Session, col, select

from rlx_base.errors import RequestError
from rlx_compile_api.repository.artifacts import artifacts_for
from rlx_compile_api.repository.models import get_version
from rlx_compile_api.repository.paging import decode_cursor, encode_cursor
from rlx_compile_api.tables import DeploymentRow, RevisionRow
from rlx_wire.api import DeployedArtifact, Deployment, DeploymentList, DeploymentRequest

__all__ = ["deployments_changed", "get_deployment", "list_deployments", "put_deployment", "remove_deployment"]

_REVISION: Final = "deployments"


def put_deployment(session: Session, name: str, request: DeploymentRequest, now: float) -> Deployment:
    """Creates or replaces; the latest version is pinned when it is put. Raises E430 for an unknown model."""
    version = get_version(session, request.model, request.version)
    row = session.get(DeploymentRow, name)
    fields: dict[str, Any] = {
        "model": request.model,
        "version": version.version,
        "program_digest": version.program_digest,
        "targets": list(request.targets),
        "replicas": request.replicas,
        "node_selector": dict(request.node_selector),
        "updated_at": now,
    }
    if row is None:
        row = DeploymentRow(name=name, created_at=now, **fields)
    else:
        row.sqlmodel_update(fields)
    session.add(row)
    deployments_changed(session)
    session.flush()
    return _deployment(session, row)


def get_deployment(session: Session, name: str) -> Deployment:
    """Raises E430."""
    return _deployment(session, _row(session, name))


def remove_deployment(session: Session, name: str) -> None:
    """Raises E430."""
    session.delete(_row(session, name))
    deployments_changed(session)


def list_deployments(session: Session, cursor: str | None = None, limit: int | None = None) -> DeploymentList:
    """By name, at most `limit` of them after `cursor`. Raises E435."""
    # The counter is read first: a change in between makes a client ask once more, never once too few.
    revision = session.get(RevisionRow, _REVISION)
    query = select(DeploymentRow).order_by(col(DeploymentRow.name))
    if cursor is not None:
        query = query.where(col(DeploymentRow.name) > decode_cursor(cursor, [col(DeploymentRow.name)])[0])
    rows = session.exec(query if limit is None else query.limit(limit + 1)).all()
    more = limit is not None and len(rows) > limit
    items = tuple(_deployment(session, row) for row in rows[:limit])
    following = encode_cursor([items[-1].name]) if more else None
    return DeploymentList(version=revision.value if revision else 0, items=items, next=following)


def deployments_changed(session: Session) -> None:
    """Counts one change, in the transaction that makes it."""
    query = select(RevisionRow).where(RevisionRow.name == _REVISION).with_for_update()
    row = session.exec(query).first() or RevisionRow(name=_REVISION, value=0)
    row.value += 1
    session.add(row)


def _row(session: Session, name: str) -> DeploymentRow:
    row = session.get(DeploymentRow, name)
    if row is None:
        raise RequestError("E430", what=f"deployment {name!r}", hint="`rlx deploy` lists the deployments")
    return row


def _deployment(session: Session, row: DeploymentRow) -> Deployment:
    artifacts = artifacts_for(session, row.program_digest, tuple(row.targets))
    return Deployment(
        name=row.name,
        model=row.model,
        version=row.version,
        program_digest=row.program_digest,
        targets=tuple(row.targets),
        replicas=row.replicas,
        node_selector=row.node_selector,
        artifacts=tuple(
            DeployedArtifact(target=one.target, cpu=one.cpu, digest=one.digest, bytes=one.bytes) for one in artifacts
        ),
        created_at=datetime.fromtimestamp(row.created_at, UTC),
        updated_at=datetime.fromtimestamp(row.updated_at, UTC),
    )
