"""The database: SQLite in WAL mode, or PostgreSQL. Connections, transactions, and the migrations at start."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from threading import Lock
from typing import Any, Final, TypeVar

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import IntegrityError, OperationalError
from sqlmodel import Session

__all__ = ["Database"]

_MIGRATION_LOCK: Final = 0x524C58  # "RLX": the key of PostgreSQL's advisory lock
_TRIES: Final = 8

Result = TypeVar("Result")


class Database:
    """`read` and `write` run a function in a transaction of its own; `write` may run it again.

    A write is repeated when the database asks for it (deadlock, serialisation) and when it hit a unique index: another
    transaction was first, and the repetition finds what that one wrote. So the function changes nothing but rows.
    """

    def __init__(self, url: str) -> None:
        self.url = make_url(url)
        self.sqlite = self.url.get_backend_name() == "sqlite"
        self.engine = _sqlite(url) if self.sqlite else create_engine(url, pool_pre_ping=True, pool_size=10)
        self._writer = self.engine.execution_options(rlx_write=True)
        # SQLite has one writer at a time: waiting for it here is fair, waiting inside SQLite is a backoff.
        self._turn = Lock() if self.sqlite else nullcontext()

    def read(self, work: Callable[[Session], Result]) -> Result:
        with Session(self.engine) as session:
            return work(session)

    def write(self, work: Callable[[Session], Result]) -> Result:
        for attempt in range(_TRIES):
            try:
                with self._turn, Session(self._writer, expire_on_commit=False) as session:
                    result = work(session)
                    session.commit()
                    return result
            except (IntegrityError, OperationalError) as error:
                if attempt == _TRIES - 1 or not _worth_repeating(error):
                    raise
                time.sleep(0.01 * attempt)
        raise AssertionError("the last try returns or raises")

    def migrate(self) -> None:
        """Brings the tables to this version's form; of several processes that start at once, one does it."""
        config = Config()
        config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
        with self._alone() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, "head")

    def close(self) -> None:
        self.engine.dispose()

    @contextmanager
    def _alone(self) -> Iterator[Connection]:
        if self.sqlite:
            path = Path(self.url.database or "")
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.with_suffix(".lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                with self._writer.begin() as connection:
                    yield connection
            return
        with self.engine.connect() as guard:
            guard.execute(text("SELECT pg_advisory_lock(:key)"), {"key": _MIGRATION_LOCK})
            try:
                with self.engine.begin() as connection:
                    yield connection
            finally:
                guard.execute(text("SELECT pg_advisory_unlock(:key)"), {"key": _MIGRATION_LOCK})


def _sqlite(url: str) -> Engine:
    engine = create_engine(url, pool_size=10, max_overflow=40, connect_args={"timeout": 30.0})

    @event.listens_for(engine, "connect")
    def _set_up(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # transactions are begun below, not by the driver
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        # A transaction that reads first and writes later would fail, not wait, once another has written.
        write = connection.get_execution_options().get("rlx_write", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

    return engine


def _worth_repeating(error: IntegrityError | OperationalError) -> bool:
    if isinstance(error, IntegrityError):
        return True
    # PostgreSQL: serialisation failure, deadlock. SQLite: another process holds the file.
    return getattr(error.orig, "sqlstate", None) in {"40001", "40P01"} or "database is locked" in str(error.orig)
