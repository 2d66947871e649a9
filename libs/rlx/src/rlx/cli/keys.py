"""`rlx keys`: keys for people and programs that shall not have the server's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast, get_args

import typer

from rlx.cli.remote import DEFAULT_ENDPOINT, ApiKey, Endpoint, connect
from rlx.cli.terminal import Json, columns, fail, show

if TYPE_CHECKING:
    from rlx_wire.access import ApiKey as Listed

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    keys = typer.Typer(no_args_is_help=True, help="Make, list and revoke API keys. Needs a key with the scope admin.")
    keys.command("create")(create)
    keys.command("list")(list_keys)
    keys.command("revoke")(revoke)
    app.add_typer(keys, name="keys")


def create(
    name: Annotated[str, typer.Argument(help="Whose it is, or what it is for.")],
    scope: Annotated[
        str, typer.Option("--scope", "-s", help="read, compile, infer, worker, admin, or several with commas.")
    ],
    endpoint: Endpoint = DEFAULT_ENDPOINT,
    api_key: ApiKey = None,
    as_json: Json = False,
) -> None:
    """Make a key. It is shown this once: the server keeps only its SHA-256.

    Example: rlx keys create "a phone app" --scope infer
    """
    from rlx_wire.access import SCOPES, Scope

    wanted = [text.strip() for text in scope.split(",")]
    if unknown := sorted(set(wanted) - set(get_args(Scope))):
        fail(f"there is no scope {unknown[0]!r}", f"a key opens {', '.join(SCOPES)}")
    with connect(endpoint, api_key) as client:
        made = client.create_key(name, [cast(Scope, one) for one in wanted])
    shown = f"{made.key}\n{made.id} for {made.name}: {', '.join(made.scopes)}; the key is not shown again"
    show(made.model_dump(mode="json"), as_json, shown)


def list_keys(endpoint: Endpoint = DEFAULT_ENDPOINT, api_key: ApiKey = None, as_json: Json = False) -> None:
    """List the keys, the newest first, without themselves."""
    found: list[Listed] = []
    cursor = None
    with connect(endpoint, api_key) as client:
        while True:
            page = client.keys(cursor)
            found += page.items
            if (cursor := page.next) is None:
                break
    rows = [(key.id, key.name, ", ".join(key.scopes), f"{key.created_at:%Y-%m-%d %H:%M}") for key in found]
    answer = {"keys": [key.model_dump(mode="json") for key in found]}
    show(answer, as_json, columns(("KEY", "NAME", "SCOPES", "MADE (UTC)"), rows))


def revoke(
    key: Annotated[str, typer.Argument(help="Its id, as `rlx keys list` shows it.")],
    endpoint: Endpoint = DEFAULT_ENDPOINT,
    api_key: ApiKey = None,
    as_json: Json = False,
) -> None:
    """Revoke a key: compile-api refuses it at once, scheduler and nodes within ten seconds."""
    with connect(endpoint, api_key) as client:
        client.revoke_key(key)
    show({"revoked": key}, as_json, f"{key} opens nothing any more")
