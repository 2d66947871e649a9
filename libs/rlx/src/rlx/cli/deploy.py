"""`rlx deploy`: says which nodes should hold a model; and `rlx deploy --remove` that none should."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rlx.cli.remote import DEFAULT_ENDPOINT, ApiKey, Endpoint, connect
from rlx.cli.terminal import Json, columns, fail, show

if TYPE_CHECKING:
    from rlx_wire.api import Deployment

__all__ = ["deploy", "deployed_text", "register"]


def register(app: typer.Typer) -> None:
    app.command()(deploy)


def deploy(
    model: Annotated[str | None, typer.Argument(help="The model; without one the deployments are listed.")] = None,
    target: Annotated[str, typer.Option("--target", "-t", help="llvm, c, or several with commas.")] = "llvm",
    version: Annotated[int | None, typer.Option("--version", help="Default: the latest.")] = None,
    replicas: Annotated[int, typer.Option("--replicas", min=0, help="On how many nodes; 0: on all that match.")] = 0,
    label: Annotated[list[str] | None, typer.Option("--label", help="Only on nodes with this label: zone=a.")] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Take the deployment of this name away.")] = False,
    endpoint: Endpoint = DEFAULT_ENDPOINT,
    api_key: ApiKey = None,
    as_json: Json = False,
) -> None:
    """Deploy a model to the nodes of a cluster.

    Example: rlx deploy resnet18 --target llvm,c --replicas 2
    """
    labels = dict(text.split("=", 1) for text in label or [] if "=" in text)
    if len(labels) != len(label or []):
        fail("--label is not NAME=VALUE", "write it like --label zone=a")
    with connect(endpoint, api_key) as client:
        if model is None:
            found = client.deployments()
            rows = [(one.name, one.model, one.version, ", ".join(one.targets), one.replicas or "all") for one in found]
            answer = {"deployments": [one.model_dump(mode="json") for one in found]}
            show(answer, as_json, columns(("NAME", "MODEL", "VERSION", "TARGETS", "REPLICAS"), rows))
        elif remove:
            client.undeploy(model)
            show({"removed": model}, as_json, f"{model} is deployed no more")
        else:
            targets = [name.strip() for name in target.split(",")]
            made = client.deploy(model, targets, version=version, replicas=replicas, node_selector=labels)
            show(made.model_dump(mode="json"), as_json, deployed_text(made, endpoint.split(",")[0].strip()))


def deployed_text(made: Deployment, url: str) -> str:
    """What was deployed, and which targets nothing is compiled for: a deployment loads code, and compiles none."""
    from rlx_cluster.deployments import compiled

    text = f"{made.name}: version {made.version} for {', '.join(made.targets)}; `rlx nodes` shows where it is loaded"
    lacking = [target for target in made.targets if not compiled(target, made.artifacts)]
    if not lacking:
        return text
    return (
        f"{text}\nnothing has compiled it for {', '.join(lacking)} yet: "
        f"`rlx compile --remote {url} -m FILE -t {','.join(lacking)}` does, unless a job of "
        f"`rlx jobs --model {made.model}` is at it"
    )
