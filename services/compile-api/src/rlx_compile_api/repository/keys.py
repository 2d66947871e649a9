"""API keys, as they are stored: by id, with the SHA-256 of the secret."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlmodel import Session, col, select

from rlx_base.errors import RequestError
from rlx_compile_api.repository.paging import page
from rlx_compile_api.tables import KeyRow
from rlx_wire.access import ApiKey
from rlx_wire.api import Page

__all__ = ["get_key", "list_keys", "remove_key", "shown"]


def get_key(session: Session, id: str) -> KeyRow:
    """Raises E430."""
    row = session.get(KeyRow, id)
    if row is None:
        raise RequestError("E430", what=f"key {id!r}", hint="`GET /v1/keys` lists the keys by their ids")
    return row


def list_keys(session: Session, cursor: str | None, limit: int) -> Page[ApiKey]:
    """The newest first."""
    return page(session, select(KeyRow), [col(KeyRow.id)], shown, cursor, limit)


def remove_key(session: Session, id: str) -> KeyRow:
    """Raises E430."""
    row = get_key(session, id)
    session.delete(row)
    return row


def shown(row: KeyRow) -> ApiKey:
    created = datetime.fromtimestamp(row.created_at, UTC)
    return ApiKey(id=row.id, name=row.name, scopes=tuple(row.scopes), created_at=created)
