"""What each method of the client asks, and how it reads the answer: shared by the client that waits and the one that
awaits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

import httpx
from pydantic import BaseModel, TypeAdapter

from rlx_client.inputs import as_tensors
from rlx_wire.access import ApiKey, KeyRequest, NewApiKey, Scope
from rlx_wire.api import (
    Artifact,
    CompileRequest,
    Deployment,
    DeploymentList,
    DeploymentRequest,
    Job,
    JobOptions,
    Model,
    ModelVersion,
    Page,
)
from rlx_wire.inference import Decision, InferRequest, InferResponse, ScheduleHint, Timings
from rlx_wire.manifest import TensorSpec
from rlx_wire.nodes import NodesView
from rlx_wire.open_inference import ModelMetadata, TensorMetadata
from rlx_wire.tensors import Array, dtype_of

__all__ = ["Call", "Inference", "Signature"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One request, and how its answer is read. `computes` marks one that a device works on."""

    method: str
    path: str
    read: Callable[[httpx.Response], T]
    params: Mapping[str, Any] = field(default_factory=dict)
    body: BaseModel | None = None
    files: tuple[tuple[str, Path], ...] = ()
    computes: bool = False

    def arguments(self, opened: ExitStack) -> dict[str, Any]:
        """httpx's arguments, anew for every try; `opened` closes the files afterwards."""
        arguments: dict[str, Any] = {"params": {k: v for k, v in self.params.items() if v is not None}}
        if self.body is not None:
            arguments["content"] = self.body.model_dump_json(exclude_none=True)
            arguments["headers"] = {"Content-Type": "application/json"}
        if self.files:
            arguments["files"] = [
                (part, (path.name, opened.enter_context(path.open("rb")), "application/octet-stream"))
                for part, path in self.files
            ]
        return arguments


@dataclass(frozen=True, slots=True)
class Inference:
    """An answer: the outputs, and where, how long and why."""

    outputs: dict[str, Array]
    model: str
    version: str
    target: str
    node: str
    device: str
    timings: Timings
    decision: Decision


@dataclass(frozen=True, slots=True)
class Signature:
    """What a model takes and gives. A symbolic dim has the name that its place gives it."""

    model: str
    versions: tuple[str, ...]
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]


def _as(schema: Any) -> Callable[[httpx.Response], Any]:
    adapter = TypeAdapter(schema)
    return lambda answer: adapter.validate_json(answer.content)


def _nothing(_: httpx.Response) -> None:
    return None


def upload(name: str, model: Path, weights: tuple[Path, ...]) -> Call[ModelVersion]:
    files = (("model", model), *(("weights", path) for path in weights))
    return Call("POST", f"/v1/models/{name}/versions", _as(ModelVersion), files=files)


def models(cursor: str | None, limit: int) -> Call[Page[Model]]:
    return Call("GET", "/v1/models", _as(Page[Model]), {"cursor": cursor, "limit": limit})


def versions(name: str, cursor: str | None, limit: int) -> Call[Page[ModelVersion]]:
    path = f"/v1/models/{name}/versions"
    return Call("GET", path, _as(Page[ModelVersion]), {"cursor": cursor, "limit": limit})


def compile_model(model: str, targets: tuple[str, ...], version: int | None, options: JobOptions) -> Call[Job]:
    body = CompileRequest(model=model, version=version, targets=targets, options=options)
    return Call("POST", "/v1/compile", _as(Job), body=body)


def job(id: str) -> Call[Job]:
    return Call("GET", f"/v1/jobs/{id}", _as(Job))


def jobs(cursor: str | None, limit: int, state: str | None, model: str | None) -> Call[Page[Job]]:
    params = {"cursor": cursor, "limit": limit, "state": state, "model": model}
    return Call("GET", "/v1/jobs", _as(Page[Job]), params)


def cancel(id: str) -> Call[Job]:
    return Call("POST", f"/v1/jobs/{id}/cancel", _as(Job))


def artifacts(cursor: str | None, limit: int, **where: Any) -> Call[Page[Artifact]]:
    return Call("GET", "/v1/artifacts", _as(Page[Artifact]), {"cursor": cursor, "limit": limit, **where})


def deploy(name: str, request: DeploymentRequest) -> Call[Deployment]:
    return Call("PUT", f"/v1/deployments/{name}", _as(Deployment), body=request)


def deployments() -> Call[tuple[Deployment, ...]]:
    read = _as(DeploymentList)
    return Call("GET", "/v1/deployments", lambda answer: read(answer).items)


def undeploy(name: str) -> Call[None]:
    return Call("DELETE", f"/v1/deployments/{name}", _nothing)


def create_key(name: str, scopes: tuple[Scope, ...]) -> Call[NewApiKey]:
    return Call("POST", "/v1/keys", _as(NewApiKey), body=KeyRequest(name=name, scopes=scopes))


def keys(cursor: str | None, limit: int) -> Call[Page[ApiKey]]:
    return Call("GET", "/v1/keys", _as(Page[ApiKey]), {"cursor": cursor, "limit": limit})


def revoke_key(id: str) -> Call[None]:
    return Call("DELETE", f"/v1/keys/{id}", _nothing)


def metadata(model: str, version: str | int | None) -> Call[Signature]:
    path = f"/v2/models/{model}" + (f"/versions/{version}" if version is not None else "")
    return Call("GET", path, _signature)


def nodes() -> Call[NodesView]:
    return Call("GET", "/v1/nodes", _as(NodesView))


def health(what: str) -> Call[None]:
    return Call("GET", f"/v2/health/{what}", _nothing)


def infer(
    model: str,
    inputs: Mapping[str, Any],
    version: str | int | None,
    target: str | None,
    schedule_hint: ScheduleHint | Mapping[str, Any] | None,
) -> Call[Inference]:
    hint = None if schedule_hint is None else ScheduleHint.model_validate(schedule_hint)
    tensors = as_tensors(inputs)
    wanted = None if version is None else str(version)
    body = InferRequest(model=model, version=wanted, target=target, inputs=tensors, schedule_hint=hint)
    return Call("POST", "/v1/infer", _inference, body=body, computes=True)


def _inference(answer: httpx.Response) -> Inference:
    response = InferResponse.model_validate_json(answer.content)
    return Inference(
        outputs={name: tensor.array(name) for name, tensor in response.outputs.items()},
        model=response.model,
        version=response.version,
        target=response.target,
        node=response.node,
        device=response.device,
        timings=response.timings,
        decision=response.decision,
    )


def _signature(answer: httpx.Response) -> Signature:
    known = ModelMetadata.model_validate_json(answer.content)
    return Signature(
        known.name, tuple(known.versions), tuple(map(_spec, known.inputs)), tuple(map(_spec, known.outputs))
    )


def _spec(tensor: TensorMetadata) -> TensorSpec:
    shape = tuple(size if size >= 0 else f"dim{place}" for place, size in enumerate(tensor.shape))
    return TensorSpec(name=tensor.name, dtype=dtype_of(tensor.datatype), shape=shape)
