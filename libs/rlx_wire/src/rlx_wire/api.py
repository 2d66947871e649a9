"""The `/v1` API of compile-api, as schemas: what a client posts and what it is answered.

| call | request → answer |
|---|---|
| `GET /v1/models`, `/{name}` | `Page[Model]`, `Model` |
| `GET /v1/models/{name}/versions`, `/{version}` | `Page[ModelVersion]`, `ModelVersion` |
| `GET /v1/models/{name}/versions/{version}/program` | `Program`: the text, and the graph that it says |
| `POST /v1/models/{name}/versions` | multipart (`model`, `weights` …) or an `.rlxz` → 201 (200: known) `ModelVersion` |
| `POST /v1/compile` | `CompileRequest` → 202 `Job` + Location |
| `GET /v1/jobs[?cursor&limit&state&model]`, `/{id}` | `Page[Job]`, `Job` |
| `GET /v1/jobs/{id}/events` | server-sent events, each a `JobEvent`; `Last-Event-ID` replays |
| `POST /v1/jobs/{id}/cancel` | 200 `Job`, as often as one likes |
| `GET /v1/artifacts[?model&version&target&cpu]`, `/{digest}` | `Page[Artifact]`, `Artifact` |
| `GET /v1/artifacts/{digest}/bundle`, `/files/{file}` | the zip, one file of it |
| `GET /v1/deployments[?version&wait&cursor&limit]` | `DeploymentList`; held up to `wait` s while it is at `version` |
| `PUT`, `GET`, `DELETE /v1/deployments/{name}` | `DeploymentRequest` → `Deployment`; 204 |
| `POST /v1/profiles[?model&note]` | Chrome-trace JSON → 201 `Profile` |
| `GET /v1/profiles`, `/{id}`, `/{id}/trace` | `Page[Profile]`, `Profile`, the JSON |
| `POST /v1/session` | `SessionRequest` → 204 and a cookie, for the page |

The routes for workers stand in `rlx_wire.jobs`, those for keys in `rlx_wire.access`. A digest is 64 lower-case hex
digits of SHA-256.
Requests refuse unknown members; answers may gain members, so a client ignores those it does not know.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator

from rlx_wire.problem import Problem
from rlx_wire.scalars import NUMBER, Flag, Table

__all__ = [
    "Answer",
    "Artifact",
    "Attempt",
    "AttemptState",
    "CompileRequest",
    "DeployedArtifact",
    "Deployment",
    "DeploymentList",
    "DeploymentRequest",
    "Digest",
    "Dim",
    "Job",
    "JobEvent",
    "JobOptions",
    "JobState",
    "Label",
    "Model",
    "ModelVersion",
    "Name",
    "Page",
    "Profile",
    "Program",
    "ProgramNode",
    "ProgramOutput",
    "Progress",
    "Request",
    "SessionRequest",
    "SourceFile",
    "Target",
    "Task",
    "TensorInfo",
    "VersionNumber",
]

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")]
Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Target = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,31}(:[a-z0-9][a-z0-9._+-]{0,63})?$")]

Dim = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}$")]
Label = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/-]{0,127}$")]
VersionNumber = Annotated[int, Field(ge=1, le=2**31 - 1)]

JobState = Literal["queued", "running", "succeeded", "failed", "cancelled"]
"""Of a job and of a task. The last three are final."""

AttemptState = Literal["running", "succeeded", "failed", "cancelled", "lost"]
"""Of one try at a task; `lost`: its worker fell silent, or gave it back."""


class Request(BaseModel):
    """Base of what a client sends: an unknown member is refused, so that a typing error is not silently ignored."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Answer(BaseModel):
    """Base of what a service answers."""

    model_config = ConfigDict(frozen=True, extra="ignore")


Item = TypeVar("Item")


class Page(Answer, Generic[Item]):
    """A stretch of a list, newest first; `next` is the cursor of the following stretch, None on the last."""

    items: tuple[Item, ...]
    next: str | None = None


# ── models ───────────────────────────────────────────────────────────────────


class TensorInfo(Answer):
    """An input or output of a model; a symbolic dimension stands by its name."""

    name: str
    dtype: str
    shape: tuple[int | str, ...]


class SourceFile(Answer):
    """One file of a version's source: the text, its weights, or one `.rlxz`."""

    name: str
    digest: Digest
    bytes: int


class ModelVersion(Answer):
    """One uploaded program of a model; numbered 1, 2, … and never changed."""

    model: Name
    version: int
    module: str
    program_digest: Digest
    meaning_digest: Digest
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    source: tuple[SourceFile, ...]
    created_at: datetime


class ProgramNode(Answer):
    """One application of an op. `line` is where it stands in the text; an absent optional operand is None.

    `attributes` are those that differ from the op's defaults, as text; `scheduled` tells that the author said how.
    """

    op: str
    operands: tuple[str | None, ...]
    results: tuple[TensorInfo, ...]
    attributes: dict[str, str] = {}
    scheduled: bool = False
    regions: tuple[str, ...] = ()
    line: int | None = None


class ProgramOutput(Answer):
    """What a result is called outside, and the value that it is."""

    name: str
    value: str


class Program(Answer):
    """A version's program for reading: its text as it was uploaded, and the graph of its main module."""

    file: str
    text: str
    inputs: tuple[TensorInfo, ...]
    constants: tuple[TensorInfo, ...]
    nodes: tuple[ProgramNode, ...]
    outputs: tuple[ProgramOutput, ...]


class Model(Answer):
    """A named line of versions."""

    name: Name
    latest_version: int
    created_at: datetime


# ── jobs ─────────────────────────────────────────────────────────────────────


class JobOptions(Request):
    """What may change the generated code, besides program, target and CPU: part of a task's key."""

    opt_level: Annotated[int, Field(ge=0, le=3), NUMBER] = 3
    strict: Flag = False
    fallback_to_ddr: Flag = False
    dims: Table[Dim, Annotated[int, Field(ge=0, le=2**31 - 1), NUMBER]] = Field(default={}, max_length=64)
    """The values of symbolic dimensions that are to be fixed."""


class CompileRequest(Request):
    """Compile a version (the latest, where none is named) for each target: `llvm`, `c`, `llvm:x86-64-v4` …"""

    model: Name
    version: Annotated[VersionNumber, NUMBER] | None = None
    targets: tuple[Target, ...] = Field(min_length=1, max_length=32)
    options: JobOptions = JobOptions()

    @field_validator("targets")
    @classmethod
    def _each_target_once(cls, targets: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(targets))


class Progress(Answer):
    """How far an attempt is: the phase, and the share of the whole that is done."""

    phase: str = Field(pattern=r"^[^\x00-\x1f]{0,64}$")
    fraction: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False), NUMBER]


class Attempt(Answer):
    """One try at a task."""

    number: int
    state: AttemptState
    worker: str
    started_at: datetime
    ended_at: datetime | None = None
    seconds_by_phase: dict[str, float] = {}


class Task(Answer):
    """One target of a job. `attempt` is the number of the current or last try, 0 before the first."""

    id: str
    target: str
    cpu: str
    state: JobState
    attempt: int = 0
    losses: int = 0
    progress: Progress | None = None
    attempts: tuple[Attempt, ...] = ()
    artifact: Digest | None = None
    problem: Problem | None = None
    created_at: datetime
    ended_at: datetime | None = None


class Job(Answer):
    """One `POST /v1/compile`: a task per target. A task may be shared with another job that asks for the same."""

    id: str
    state: JobState
    model: Name
    version: int
    program_digest: Digest
    options: JobOptions
    tasks: tuple[Task, ...]
    created_at: datetime
    started_at: datetime | None = None
    ended_at: datetime | None = None


class JobEvent(Answer):
    """One line of a job's history; `id` rises by one within a job and is the SSE event's id.

    `kind` is the SSE event's name: `job` (its state changed), `task` (a task's did) or `progress`.
    """

    id: int
    kind: Literal["job", "task", "progress"]
    at: datetime
    state: JobState | None = None
    task: str | None = None
    target: str | None = None
    attempt: int | None = None
    progress: Progress | None = None
    artifact: Digest | None = None
    problem: Problem | None = None


# ── artifacts and deployments ────────────────────────────────────────────────


class Artifact(Answer):
    """A committed bundle: `GET /v1/artifacts/{digest}/bundle` streams its zip."""

    digest: Digest
    program_digest: Digest
    target: str
    cpu: str
    compiler_version: str
    bytes: int
    created_at: datetime


class DeploymentRequest(Request):
    """Which nodes should hold a model: `replicas` nodes whose labels match `node_selector` (0: all that match)."""

    model: Name
    version: Annotated[VersionNumber, NUMBER] | None = None
    targets: tuple[Target, ...] = Field(default=("llvm",), min_length=1, max_length=32)
    replicas: Annotated[int, Field(ge=0, le=10_000), NUMBER] = 0
    node_selector: Table[Label, Label] = Field(default={}, max_length=32)


class DeployedArtifact(Answer):
    """A bundle that a node of the deployment may pull."""

    target: str
    cpu: str
    digest: Digest
    bytes: int


class Deployment(Answer):
    """A deployment as nodes read it. `artifacts` holds what is compiled by now for each of its targets."""

    name: Name
    model: Name
    version: int
    program_digest: Digest
    targets: tuple[str, ...]
    replicas: int
    node_selector: dict[str, str]
    artifacts: tuple[DeployedArtifact, ...]
    created_at: datetime
    updated_at: datetime


class DeploymentList(Answer):
    """The deployments by name; `version` rises with every change that a node could care about, artifacts included.

    All of them, or those of one page where a `limit` was given: `next` is then the cursor of the following one. Pages
    belong together where their versions are the same.
    """

    version: int
    items: tuple[Deployment, ...]
    next: str | None = None


# ── profiles and sessions ────────────────────────────────────────────────────


class Profile(Answer):
    """An uploaded profile (Chrome-trace JSON); `GET /v1/profiles/{id}/trace` gives it back."""

    id: str
    digest: Digest
    bytes: int
    model: str | None = None
    note: str | None = None
    created_at: datetime


class SessionRequest(Request):
    """The page's way in: a key for a cookie, since an EventSource sends no headers."""

    key: str = Field(min_length=1, max_length=1024)
