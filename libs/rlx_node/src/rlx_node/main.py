"""A node as a process: the `main` of the scheduler and of the workers."""

from __future__ import annotations

from collections.abc import Iterable

from fastapi import FastAPI

from rlx_node.app import create_actor, create_app
from rlx_node.settings import NodeSettings
from rlx_wire.service.process import run_service

__all__ = ["run_node"]


def run_node(program: str, kinds: Iterable[str] | None, settings: type[NodeSettings] = NodeSettings) -> None:
    """Serves until SIGTERM or Ctrl-C, then drains. `kinds` are those of the devices to use; none for a
    scheduler.
    """

    def application(settings: NodeSettings) -> FastAPI:
        return create_app(create_actor(settings, kinds), title=program)

    async def drain(app: FastAPI) -> None:
        await app.state.actor.drain()

    run_service(program, settings, application, drain=drain)
