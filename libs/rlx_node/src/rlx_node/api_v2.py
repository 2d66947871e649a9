"""The Open Inference Protocol v2 over HTTP, in its JSON form."""

from __future__ import annotations

import json
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Request, Response

from rlx_base.errors import RequestError
from rlx_node.actor import VERSION, Actor
from rlx_node.api_v1 import Held
from rlx_node.bodies import json_body, time_for, unless_gone
from rlx_node.models_v2 import config_of, metadata_of
from rlx_node.peers import FORWARDED_HEADER
from rlx_wire.inference import InferRequest, InferResponse
from rlx_wire.open_inference import (
    InferOutput,
    InferRequestV2,
    InferResponseV2,
    ModelMetadata,
    ModelReady,
    RepositoryModel,
    ServerMetadata,
)
from rlx_wire.service.logs import current_request_id
from rlx_wire.service.openapi import request_body
from rlx_wire.tensors import Tensor, dtype_of

__all__ = ["health", "routes"]

routes = APIRouter(prefix="/v2", tags=["open inference protocol"])
health = APIRouter(prefix="/v2/health", tags=["health"])


def _version(request: Request) -> str | None:
    """The version in the path, where the route has one. Raises E422 for what is no number."""
    version: str | None = request.path_params.get("version")
    if version is not None and not (version.isascii() and version.isdigit() and len(version) <= 18):
        raise RequestError("E422", what=f"version {version!r}; versions are numbers")
    return version


Version = Annotated[str | None, Depends(_version)]
_VERSIONED: Final[dict[str, Any]] = {
    "parameters": [
        {"name": "version", "in": "path", "required": True, "schema": {"type": "string", "pattern": "^[0-9]{1,18}$"}}
    ]
}


@health.get("/live", response_class=Response)
async def live() -> Response:
    """This process answers."""
    return Response()


@health.get("/ready", response_class=Response)
async def ready(actor: Held) -> Response:
    """A live node that does not drain has a device that runs."""
    if not actor.ready:
        raise RequestError("E416", why="no live node has a device that runs")
    return Response()


@routes.get("")
async def server_metadata() -> ServerMetadata:
    return ServerMetadata(version=VERSION, extensions=["model_configuration", "parameters", "statistics"])


@routes.get("/models/{model}")
@routes.get("/models/{model}/versions/{version}", openapi_extra=_VERSIONED)
async def model_metadata(model: str, actor: Held, request: Request, version: Version) -> ModelMetadata:
    """Inputs and outputs; a symbolic dim is −1."""
    held = actor.holdings.manifest(model, version)
    if held is not None:
        metadata = metadata_of(model, held[1])
    else:
        metadata = ModelMetadata.model_validate_json(await _elsewhere(request, actor, model, version))
    versions = sorted({copy.version for copy in actor.dataplane.known(model)}, key=int)
    return metadata.model_copy(update={"versions": versions or metadata.versions})


@routes.get("/models/{model}/ready")
@routes.get("/models/{model}/versions/{version}/ready", openapi_extra=_VERSIONED)
async def model_ready(model: str, actor: Held, version: Version) -> ModelReady:
    """200 where the model can run now; 404 unknown, 503 not loaded yet."""
    _copies(actor, model, version)
    return ModelReady(name=model, ready=True)


@routes.get("/models/{model}/config")
@routes.get("/models/{model}/versions/{version}/config", openapi_extra=_VERSIONED)
async def model_config(model: str, actor: Held, request: Request, version: Version) -> dict[str, Any]:
    """The model's configuration as Triton's clients read it."""
    held = actor.holdings.manifest(model, version)
    if held is not None:
        return config_of(model, held[1])
    config: dict[str, Any] = json.loads(await _elsewhere(request, actor, model, version))
    return config


@routes.get("/models/{model}/stats")
@routes.get("/models/{model}/versions/{version}/stats", openapi_extra=_VERSIONED)
async def model_statistics(model: str, actor: Held, version: Version) -> dict[str, Any]:
    """How the requests went that this actor answered, since it began."""
    versions = sorted({copy.version for copy in _copies(actor, model, version)}, key=int)
    return {"model_stats": [actor.statistics.of(model, v).answer(model, v) for v in versions]}


@routes.post("/repository/index")
async def repository_index(actor: Held) -> list[RepositoryModel]:
    """Every model that is loaded somewhere, and every one that is deployed and not loaded yet."""
    loaded = {
        (c.model, c.version) for node in actor.view.nodes() if node.record.status for c in node.record.status.loaded
    }
    deployed = {(d.model, str(d.version)) for d in actor.deployments.items} - loaded
    ready = [RepositoryModel(name=name, version=version, state="READY") for name, version in loaded]
    waiting = [
        RepositoryModel(
            name=name,
            version=version,
            state="UNAVAILABLE",
            reason=pending.why if (pending := actor.reconciler.pending(name, version, None, ())) else "",
        )
        for name, version in deployed
    ]
    return sorted(ready + waiting, key=lambda row: (row.name, int(row.version)))


@routes.post("/repository/models/{model}/load", operation_id="load_model")
@routes.post("/repository/models/{model}/unload", operation_id="unload_model")
async def load_or_unload(model: str) -> None:
    """Which node holds what is a deployment's business."""
    hint = f"`rlx deploy {model}` says which nodes should hold it"
    raise RequestError("E420", what="loading and unloading by hand", hint=hint)


@routes.post(
    "/models/{model}/infer",
    response_model=InferResponseV2,
    openapi_extra=request_body(InferRequestV2),
    operation_id="model_infer",
)
@routes.post(
    "/models/{model}/versions/{version}/infer",
    response_model=InferResponseV2,
    openapi_extra=request_body(InferRequestV2) | _VERSIONED,
    operation_id="model_infer_of_version",
)
async def infer(model: str, actor: Held, request: Request, version: Version) -> Response:
    """One inference. `parameters.target` picks the target, `parameters.timeout` is in microseconds."""
    if "inference-header-content-length" in request.headers:
        hint = "send the tensors as JSON: `set_data_from_numpy(…, binary_data=False)`"
        raise RequestError("E420", what="the binary tensor extension", hint=hint)
    asked = await json_body(request, InferRequestV2)
    seconds = time_for(request, actor.settings.network.latency_budget_ms)
    timeout_us = asked.parameters.get("timeout")
    if isinstance(timeout_us, int) and 0 < timeout_us < seconds * 1e6:
        seconds = timeout_us / 1e6
    work = actor.dataplane.infer(
        _as_rlx(model, version, asked),
        current_request_id() or "",
        seconds,
        forwarded=FORWARDED_HEADER in request.headers,
    )
    answer = _as_v2(asked, await unless_gone(request, work))
    # JSON has no NaN and no infinity; the protocol's clients read Python's names for them, as Triton sends them.
    return Response(json.dumps(answer.model_dump(exclude_none=True)), media_type="application/json")


def _as_rlx(model: str, version: str | None, asked: InferRequestV2) -> InferRequest:
    target = asked.parameters.get("target")
    names = [tensor.name for tensor in asked.inputs]
    if len(set(names)) != len(names):
        raise RequestError("E419", what="an input stands twice")
    return InferRequest(
        model=model,
        version=version,
        target=str(target) if target is not None else None,
        inputs={t.name: Tensor(dtype=dtype_of(t.datatype), shape=t.shape, data=t.data) for t in asked.inputs},
    )


def _as_v2(asked: InferRequestV2, answer: InferResponse) -> InferResponseV2:
    names = [output.name for output in asked.outputs] if asked.outputs else list(answer.outputs)
    for name in names:
        if name not in answer.outputs:
            known = ", ".join(answer.outputs)
            raise RequestError("E426", model=answer.model, output=name, known=known)
    return InferResponseV2(
        model_name=answer.model,
        model_version=answer.version,
        id=asked.id,
        parameters={"target": answer.target, "node": answer.node, "device": answer.device},
        outputs=[InferOutput.of(name, answer.outputs[name].array(name), answer.outputs[name].dtype) for name in names],
    )


def _copies(actor: Actor, model: str, version: str | None) -> list[Any]:
    """The loaded copies of a model. Raises as an inference would where there is none."""
    copies = [copy for copy in actor.dataplane.known(model) if version in (None, copy.version)]
    if not copies:
        raise actor.dataplane.nowhere(model, version)
    return copies


async def _elsewhere(request: Request, actor: Actor, model: str, version: str | None) -> bytes:
    """What a node that holds the model answers to the same question."""
    copies = _copies(actor, model, version)
    if FORWARDED_HEADER not in request.headers:
        for node in actor.view.nodes():
            loaded = node.record.status.loaded if node.record.status is not None else ()
            if node.record.id != actor.settings.node and any(copy in copies for copy in loaded):
                return await actor.peers.get(node.record, request.url.path)
    raise RequestError("E414", model=model, why="the node that had it has it no more")
