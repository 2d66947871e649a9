"""A private PostgreSQL: made in a folder of its own, reached over a socket there, gone with the test run."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import psycopg
import pytest

__all__ = ["postgres", "postgres_database"]

_USER: Final = "postgres"


def _folder_of_binaries() -> Path:
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    if versions:
        return versions[-1]
    if os.environ.get("RLX_TEST_POSTGRES") == "skip":
        pytest.skip("no PostgreSQL, and RLX_TEST_POSTGRES=skip")
    pytest.fail("no PostgreSQL: install it (Debian: postgresql), or set RLX_TEST_POSTGRES=skip")


def _run(command: Sequence[str], *, check: bool = True) -> None:
    """As an ordinary user: PostgreSQL refuses to be run by root."""
    if os.geteuid() == 0:
        command = ["runuser", "-u", _USER, "--", *command]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/")
    assert not check or done.returncode == 0, done.stdout + done.stderr


@contextmanager
def postgres() -> Iterator[str]:
    """A server; gives the parameters that reach it."""
    binaries = _folder_of_binaries()
    # The path of a socket is bounded at 107 bytes, and pytest's folders are deep.
    folder = Path(tempfile.mkdtemp(prefix="rlx-pg-"))
    if os.geteuid() == 0:
        owner = pwd.getpwnam(_USER)
        os.chown(folder, owner.pw_uid, owner.pw_gid)
    data = folder / "data"
    try:
        _run([str(binaries / "initdb"), "-D", str(data), "-U", _USER, "--auth=trust", "--no-sync", "-E", "UTF8"])
        options = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off -c max_connections=60"
        control = [str(binaries / "pg_ctl"), "-D", str(data), "-w"]
        _run([*control, "-l", str(folder / "log"), "-o", options, "start"])
        try:
            yield f"host={folder} user={_USER}"
        finally:
            _run([*control, "-m", "immediate", "stop"], check=False)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def postgres_database(server: str, name: str) -> Iterator[str]:
    """An empty database on it; gives the URL for SQLAlchemy."""
    with psycopg.connect(f"{server} dbname=postgres", autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
        try:
            parameters = dict(pair.split("=", 1) for pair in server.split())
            yield f"postgresql+psycopg://{parameters['user']}@/{name}?host={parameters['host']}"
        finally:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
