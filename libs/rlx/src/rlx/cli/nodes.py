"""`rlx nodes`: who is in the cluster, with what, and how loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from rlx.cli.remote import DEFAULT_ENDPOINT, ApiKey, Endpoint, connect
from rlx.cli.terminal import Json, columns, show

if TYPE_CHECKING:
    from rlx_wire.nodes import NodeView

__all__ = ["nodes", "register"]


def register(app: typer.Typer) -> None:
    app.command()(nodes)


def nodes(endpoint: Endpoint = DEFAULT_ENDPOINT, api_key: ApiKey = None, as_json: Json = False) -> None:
    """List the nodes with their devices, what they have loaded, and their load.

    Example: rlx nodes --endpoint http://127.0.0.1:8000
    """
    with connect(endpoint, api_key) as client:
        view = client.nodes()
    heads = ("NODE", "STATE", "CPU", "DEVICES", "QUEUE", "BUSY", "LOADED")
    show(view.model_dump(mode="json"), as_json, columns(heads, list(map(_row, view.nodes))))


def _row(node: NodeView) -> tuple[object, ...]:
    record, status = node.record, node.record.status
    devices = ", ".join(f"{device.kind}:{device.index}" for device in record.devices) or "none"
    if status is None:
        return record.id, node.liveness, record.capabilities.cpu, devices, "", "", ""
    loaded = ", ".join(f"{one.model}@{one.version}/{one.target}" for one in status.loaded) or "nothing"
    state = "draining" if status.draining else node.liveness
    return record.id, state, record.capabilities.cpu, devices, status.queue_depth, f"{status.utilisation:.0%}", loaded
