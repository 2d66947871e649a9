"""A service as a process: settings read, doors checked, the port bound, and then served until a signal ends
it.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence
from types import FrameType
from typing import Generic, TypeVar

import uvicorn
from starlette.types import ASGIApp

from rlx_base.errors import ClusterError, RlxError
from rlx_wire.service.logs import configure_logs
from rlx_wire.service.settings import ServiceSettings, refuse_open_doors, split_address

__all__ = ["bind", "run_service"]

Settings = TypeVar("Settings", bound=ServiceSettings)
App = TypeVar("App", bound=ASGIApp)


def run_service(
    program: str,
    settings_type: type[Settings],
    create_app: Callable[[Settings], App],
    argv: Sequence[str] | None = None,
    grace_seconds: int = 3,
    drain: Callable[[App], Awaitable[None]] | None = None,
) -> None:
    """The `main` of a service. Exits with 2 for settings that do not fit and 3 where it cannot listen.

    On SIGTERM or Ctrl-C the service still answers while `drain` runs; then open requests have
    `grace_seconds` to end. A second signal ends the drain.
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
    app = create_app(settings)
    config = uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=grace_seconds)
    host, port = listening.getsockname()[:2]
    logging.getLogger("rlx").info("%s listens on http://%s:%d", program, f"[{host}]" if ":" in host else host, port)
    with listening:
        _Server(config, app, drain).run(sockets=[listening])


class _Server(uvicorn.Server, Generic[App]):
    """Ends with status 0 when a signal asks for it, and drains before that."""

    def __init__(self, config: uvicorn.Config, app: App, drain: Callable[[App], Awaitable[None]] | None) -> None:
        super().__init__(config)
        self._app = app
        self._drain = drain
        self._loop: asyncio.AbstractEventLoop | None = None
        self._draining: asyncio.Task[None] | None = None
        self._asked = False

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self._drain is None or self._loop is None or self._asked:
            self.should_exit = True
            return
        self._asked = True
        self._loop.call_soon_threadsafe(self._begin_drain)

    def _begin_drain(self) -> None:
        self._draining = asyncio.create_task(self._drain_and_exit())

    async def _drain_and_exit(self) -> None:
        assert self._drain is not None
        try:
            await self._drain(self._app)
        finally:
            self.should_exit = True


def bind(address: str) -> socket.socket:
    """A socket that listens on `HOST:PORT`. Raises E510 where another process has it."""
    host, port = split_address(address)
    try:
        family, _, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(place[:2], family=family, backlog=2048)
    except OSError as error:
        raise ClusterError("E510", address=address, reason=error.strerror or str(error)) from error
