"""`rlx up`, `rlx status`, `rlx down`: the whole stack on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rlx.cli.terminal import DONE, NO, Json, fail, show
from rlx.stack import Ports, StackSettings, StackState, settings

__all__ = ["down", "register", "status", "up"]

Data = Annotated[
    Path | None,
    typer.Option("--data", file_okay=False, help="Folder of the stack; default RLX_DATA or ~/.local/share/rlx."),
]
Port = Annotated[int | None, typer.Option(min=1, max=65535)]


def register(app: typer.Typer) -> None:
    for command in (up, status, down):
        app.command()(command)


def up(
    data: Data = None,
    port_base: Annotated[
        int | None, typer.Option(min=1, max=65000, help="First of five consecutive ports, the API's.")
    ] = None,
    api_port: Port = None,
    scheduler_port: Port = None,
    node_port: Port = None,
    gss_port: Port = None,
    redis_port: Port = None,
) -> None:
    """Run the whole stack until Ctrl-C: Redis, compile-api with its page, gss, scheduler, worker and node.

    Example: rlx up --data ./stack --port-base 18000
    """
    from rlx.stack import up as run_stack

    chosen = {
        "api": api_port,
        "scheduler": scheduler_port,
        "node": node_port,
        "gss": gss_port,
        "redis": redis_port,
    }
    ports = Ports.from_base(port_base) if port_base is not None else Ports()
    given = ports.model_dump() | {name: port for name, port in chosen.items() if port is not None}
    if twice := sorted({port for port in given.values() if list(given.values()).count(port) > 1}):
        fail(f"port {twice[0]} is given to two services", "choose a port of its own for each")
    run_stack(
        StackSettings(data=data or settings.default_data(), ports=Ports(**given)),
        announce=lambda line: print(line, flush=True),
    )


def status(data: Data = None, as_json: Json = False) -> None:
    """Say whether the stack runs and how its services are. Exit code 1: it does not.

    Example: rlx status --json
    """
    from rlx.stack import status as stack_status

    folder = StackSettings(data=data or settings.default_data())
    state = stack_status(folder)
    if state is None:
        show({"running": False, "data": str(folder.data)}, as_json, f"no stack runs on {folder.data}")
        raise typer.Exit(NO)
    show({"running": True, **state.model_dump(mode="json")}, as_json, _table(state))
    raise typer.Exit(DONE)


def _table(state: StackState) -> str:
    lines = [f"RLX {'is up' if state.ready else 'is starting'}: {state.url}  (process {state.pid})"]
    for name, service in state.services.items():
        restarts = f"  restarted {service.restarts} times" if service.restarts else ""
        lines.append(f"{name:<12} {service.state:<9} {service.address}{restarts}".rstrip())
    return "\n".join(lines)


def down(data: Data = None) -> None:
    """Stop the stack and wait until it has ended.

    Example: rlx down --data ./stack
    """
    from rlx.stack import down as stop_stack

    stop_stack(StackSettings(data=data or settings.default_data()))
    print("RLX has stopped")
