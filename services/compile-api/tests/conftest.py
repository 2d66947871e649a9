"""Applications for the tests, on each database in turn."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from rlx_compile_api.app import create_app
from rlx_compile_api.database import Database
from rlx_compile_api.settings import Settings
from tests.support.compile_api import Api, Clock, ListBroker, inspect_text
from tests.support.postgres import postgres, postgres_database


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    with postgres() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Each test that asks for it runs on both."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'test.sqlite3'}"
        return
    server = request.getfixturevalue("postgres_server")
    with postgres_database(server, f"rlx_{uuid.uuid4().hex}") as url:
        yield url


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url)
    database.migrate()
    yield database
    database.close()


@pytest.fixture
def quiet_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Publisher and reconciler act when the test calls them, not by themselves."""
    monkeypatch.setattr("rlx_compile_api.publisher.Publisher.run", lambda self: None)
    monkeypatch.setattr("rlx_compile_api.reconciler.Reconciler.run", lambda self: None)


StartApi = Callable[..., Api]


@pytest.fixture
def start_api(tmp_path: Path, quiet_threads: None) -> Iterator[StartApi]:
    """Starts an application with some settings of the test's own."""
    clients: list[TestClient] = []

    def start(database_url: str = "", **settings: object) -> Api:
        # Whoever listens at the usual ports of this machine is none of a test's.
        nobody = {"scheduler_url": "http://127.0.0.1:1", "gss_url": "http://127.0.0.1:1"}
        made = Settings(
            data_folder=tmp_path / "data", database_url=database_url, lease_seconds=4, **{**nobody, **settings}
        )
        broker, clock = ListBroker(), Clock()
        app = create_app(made, broker, clock, inspect_text)
        client = TestClient(app, base_url="http://127.0.0.1:8000", raise_server_exceptions=False)
        clients.append(client)
        client.__enter__()
        return Api(client, app.state.service, broker, clock)

    yield start
    for client in clients:
        client.__exit__(None, None, None)


@pytest.fixture
def api(start_api: StartApi) -> Api:
    """On SQLite, without a key."""
    return start_api()


@pytest.fixture
def api_on_both(start_api: StartApi, database_url: str) -> Api:
    """On SQLite and on PostgreSQL."""
    return start_api(database_url)
