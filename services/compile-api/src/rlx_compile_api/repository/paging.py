"""Lists in stretches: a cursor names the last row that was given, so rows that come or go in between do no harm."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from sqlalchemy import tuple_
from sqlmodel import Session
from sqlmodel.sql.expression import SelectOfScalar

from rlx_base.errors import RequestError
from rlx_wire.api import Page

__all__ = ["decode_cursor", "encode_cursor", "page"]

Row = TypeVar("Row")
Item = TypeVar("Item")


def page(
    session: Session,
    query: SelectOfScalar[Row],
    keys: Sequence[Any],
    show: Callable[[Row], Item],
    cursor: str | None,
    limit: int,
) -> Page[Item]:
    """At most `limit` rows after `cursor`, by falling `keys` (columns that together name a row). Raises E435."""
    if cursor is not None:
        query = query.where(tuple_(*keys) < tuple_(*decode_cursor(cursor, keys)))
    rows = session.exec(query.order_by(*(key.desc() for key in keys)).limit(limit + 1)).all()
    more = len(rows) > limit
    following = encode_cursor([getattr(rows[limit - 1], key.key) for key in keys]) if more else None
    return Page(items=tuple(show(row) for row in rows[:limit]), next=following)


def encode_cursor(values: list[Any]) -> str:
    """The cursor after a row with these values."""
    return base64.urlsafe_b64encode(json.dumps(values).encode()).decode().rstrip("=")


def decode_cursor(cursor: str, keys: Sequence[Any]) -> list[Any]:
    """The values of the columns `keys` that a cursor names. Raises E435."""
    try:
        values = json.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True))
    except ValueError:
        values = None
    kinds = [getattr(key.type, "impl_instance", key.type).python_type for key in keys]
    if not isinstance(values, list) or [type(value) for value in values] != kinds or not all(map(_plain, values)):
        raise RequestError("E435", cursor=cursor)
    return values


def _plain(value: object) -> bool:
    """Whether a database takes the value: whoever made the cursor up may have put anything into it."""
    if isinstance(value, str):
        return value.isascii() and value.isprintable()
    return not isinstance(value, int) or abs(value) < 2**31
