"""A service as a process: settings read, doors checked, the port bound, and then served until a signal ends
it.
"""

from __future__ import annotations

import logging
import socket
import sys
from collections.abc import Callable, Sequence
from typing import TypeVar

import uvicorn
from starlette.types import ASGIApp

from rlx_base.errors import ClusterError, RlxError
from rlx_wire.service.logs import configure_logs
from rlx_wire.service.settings import ServiceSettings, refuse_open_doors, split_address

__all__ = ["bind", "run_service"]

Settings = TypeVar("Settings", bound=ServiceSettings)


def run_service(
    program: str,
    settings_type: type[Settings],
    create_app: Callable[[Settings], ASGIApp],
    argv: Sequence[str] | None = None,
    grace_seconds: int = 3,
) -> None:
    """The `main` of a service. Exits with 2 for settings that do not fit and 3 where it cannot listen.

    On SIGTERM open requests have `grace_seconds` to end.
    """
    try:
        settings = settings_type.load(program, argv)
        refuse_open_doors(settings)
    except RlxError as error:
        print(error.render(), file=sys.stderr)
        raise SystemExit(2) from None
    configure_logs(settings.log)
    try:
        listening = bind(settings.bind_addr)
    except RlxError as error:
        print(error.render(), file=sys.stderr)
        raise SystemExit(3) from None
    config = uvicorn.Config(
        create_app(settings), log_config=None, access_log=False, timeout_graceful_shutdown=grace_seconds
    )
    host, port = listening.getsockname()[:2]
    logging.getLogger("rlx").info("%s listens on http://%s:%d", program, f"[{host}]" if ":" in host else host, port)
    with listening:
        uvicorn.Server(config).run(sockets=[listening])


def bind(address: str) -> socket.socket:
    """A socket that listens on `HOST:PORT`. Raises E510 where another process has it."""
    host, port = split_address(address)
    try:
        family, _, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(place[:2], family=family, backlog=2048)
    except OSError as error:
        raise ClusterError("E510", address=address, reason=error.strerror or str(error)) from error
