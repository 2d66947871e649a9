"""`rlx-gss --bind-addr 127.0.0.1:9000 --redis URL`: one replica of the Global State Service."""

from __future__ import annotations

from rlx_gss.app import create_app
from rlx_gss.settings import GssSettings
from rlx_wire.service.process import run_service

__all__ = ["main"]


def main() -> None:
    run_service("rlx-gss", GssSettings, create_app)


if __name__ == "__main__":
    main()
