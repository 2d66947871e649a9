"""`rlx-compile-api --bind-addr 127.0.0.1:8000 --data-folder DIR`: the service as a process."""

from __future__ import annotations

from rlx_compile_api.app import create_app
from rlx_compile_api.settings import Settings
from rlx_wire.service.process import run_service

__all__ = ["main"]


def main() -> None:
    run_service("rlx-compile-api", Settings, create_app)


if __name__ == "__main__":
    main()
