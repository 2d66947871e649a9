"""What the commands that ask a server share: where it is, and the key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rlx_client import RLXClient

__all__ = ["DEFAULT_ENDPOINT", "ApiKey", "Endpoint", "connect"]

DEFAULT_ENDPOINT = "http://127.0.0.1:8000"

Endpoint = Annotated[
    str, typer.Option("--endpoint", envvar="RLX_ENDPOINT", help="URL of the API; several with commas.")
]
ApiKey = Annotated[str | None, typer.Option("--api-key", envvar="RLX_API_KEY", help="The server's key.")]


def connect(endpoint: str, api_key: str | None) -> RLXClient:
    """A client for the endpoints of the option."""
    from rlx_client import RLXClient

    return RLXClient(endpoints=[url.strip() for url in endpoint.split(",")], api_key=api_key)
