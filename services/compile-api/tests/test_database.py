"""Both databases get the same tables, and promise the same about equal work."""

import threading
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, SQLModel

from rlx_compile_api.database import Database
from rlx_compile_api.tables import JobRow, RevisionRow


def job(name: str, state: str) -> JobRow:
    return JobRow(
        id=name,
        key="same",
        state=state,
        model="m",
        version=1,
        program_digest="0" * 64,
        options={},
        request_id="r",
        created_at=0.0,
    )


def test_the_migrations_give_the_tables_that_the_code_declares(database: Database) -> None:
    with database.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), SQLModel.metadata) == []


def test_processes_that_start_at_once_migrate_once(database_url: str) -> None:
    databases = [Database(database_url) for _ in range(4)]
    failures: list[BaseException] = []

    def migrate(database: Database) -> None:
        try:
            database.migrate()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=migrate, args=[database]) for database in databases]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    for database in databases:
        database.close()


@pytest.mark.parametrize("ended", ["failed", "cancelled"])
def test_a_key_stands_once_among_live_jobs(database: Database, ended: str) -> None:
    def add(row: JobRow) -> None:
        with Session(database.engine) as session:
            session.add(row)
            session.commit()

    add(job("a", ended))
    add(job("b", "queued"))
    with pytest.raises(IntegrityError):
        add(job("c", "succeeded"))


def test_a_write_that_met_a_unique_index_runs_again_and_finds_the_winner(database: Database) -> None:
    tries = []

    def work(session: Session) -> str:
        found = session.get(RevisionRow, "r")
        tries.append(found)
        if found is None:
            if len(tries) == 1:  # another transaction is first
                with Session(database.engine) as other:
                    other.add(RevisionRow(name="r", value=7))
                    if database.sqlite:
                        session.rollback()
                    other.commit()
            session.add(RevisionRow(name="r", value=1))
            session.flush()
            return "mine"
        return f"theirs: {found.value}"

    assert database.write(work) == "theirs: 7"


def test_concurrent_writers_all_get_through(database: Database) -> None:
    database.write(lambda session: session.add(RevisionRow(name="r", value=0)))

    def count(session: Session) -> None:
        row = session.get_one(RevisionRow, "r", with_for_update=True)
        row.value += 1

    threads = [threading.Thread(target=lambda: [database.write(count) for _ in range(10)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert database.read(lambda session: session.get_one(RevisionRow, "r").value) == 80


def test_sqlite_runs_in_wal_mode_with_foreign_keys(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'x.sqlite3'}")
    with database.engine.connect() as connection:
        assert connection.execute(text("PRAGMA journal_mode")).scalar() == "wal"
        assert connection.execute(text("PRAGMA foreign_keys")).scalar() == 1
    database.close()
