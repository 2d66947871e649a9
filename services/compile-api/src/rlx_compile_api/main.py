"""`rlx-compile-api --bind-addr 127.0.0.1:8000 --data-folder DIR`: the service as a process."""

from __future__ import annotations

from fastapi import FastAPI

from rlx_compile_api.app import create_app
from rlx_compile_api.settings import Settings
from rlx_wire.service.process import run_service

__all__ = ["main"]


def main() -> None:
    run_service("rlx-compile-api", Settings, create_app, drain=_release)


async def _release(app: FastAPI) -> None:
    """Lets those go who wait for news, so that the process need not wait for them."""
    app.state.service.bell.close()


if __name__ == "__main__":
    main()
