"""`rlx models`: what a server has, and `rlx models upload` for more."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rlx.cli.remote import DEFAULT_ENDPOINT, ApiKey, Endpoint, connect
from rlx.cli.terminal import Json, columns, show

__all__ = ["models", "register"]


def register(app: typer.Typer) -> None:
    app.command()(models)


def models(
    name: Annotated[str | None, typer.Argument(help="Show the versions of this model.")] = None,
    upload: Annotated[
        Path | None, typer.Option("--upload", exists=True, dir_okay=False, help="Upload this .rlx or .rlxz under NAME.")
    ] = None,
    endpoint: Endpoint = DEFAULT_ENDPOINT,
    api_key: ApiKey = None,
    as_json: Json = False,
) -> None:
    """List the models of a server, or the versions of one; or upload a new version.

    Example: rlx models resnet18 --upload models/resnet18.rlx
    """
    from rlx.cli.upload import upload_model

    with connect(endpoint, api_key) as client:
        if upload is not None:
            version = upload_model(client, upload, name)
            text = f"{version.model} version {version.version}: program {version.program_digest[:12]}"
            show(version.model_dump(mode="json"), as_json, text)
        elif name is None:
            found = client.models().items
            rows = [(model.name, model.latest_version, f"{model.created_at:%Y-%m-%d %H:%M}") for model in found]
            answer = {"models": [model.model_dump(mode="json") for model in found]}
            show(answer, as_json, columns(("MODEL", "LATEST", "CREATED"), rows))
        else:
            versions = client.versions(name).items
            lines = [
                (one.version, one.module, one.program_digest[:12], f"{one.created_at:%Y-%m-%d %H:%M}")
                for one in versions
            ]
            answer = {"versions": [one.model_dump(mode="json") for one in versions]}
            show(answer, as_json, columns(("VERSION", "MODULE", "PROGRAM", "CREATED"), lines))
