"""Uploaded profiles."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlmodel import Session, col, select

from rlx_base.errors import RequestError
from rlx_compile_api.repository.paging import page
from rlx_compile_api.tables import ProfileRow
from rlx_wire.api import Page, Profile

__all__ = ["add_profile", "get_profile", "list_profiles"]


def add_profile(session: Session, row: ProfileRow) -> Profile:
    session.add(row)
    session.flush()
    return _profile(row)


def get_profile(session: Session, profile: str) -> Profile:
    """Raises E430."""
    row = session.get(ProfileRow, profile)
    if row is None:
        raise RequestError("E430", what=f"profile {profile!r}", hint="`rlx profiles` lists the profiles")
    return _profile(row)


def list_profiles(session: Session, cursor: str | None, limit: int) -> Page[Profile]:
    """The newest first."""
    return page(session, select(ProfileRow), [col(ProfileRow.id)], _profile, cursor, limit)


def _profile(row: ProfileRow) -> Profile:
    return Profile(
        id=row.id,
        digest=row.digest,
        bytes=row.bytes,
        model=row.model,
        note=row.note,
        created_at=datetime.fromtimestamp(row.created_at, UTC),
    )
