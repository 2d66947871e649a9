"""What compile-api and its workers say to each other: the Celery message and the reports of attempts.

A message carries ids only. It is a hint that there is work, not the work: a worker that gets one *claims* the attempt
named in it, and a claim that is refused (409: somebody has it, or it is over) means the message is to be dropped.

| call by a worker | request → answer |
|---|---|
| `POST /v1/tasks/{task}/attempts/{attempt}` | `Claim` → `Assignment` |
| `POST /v1/tasks/{task}/attempts/{attempt}/heartbeat` | `Heartbeat` → `Lease` |
| `GET /v1/sources/{digest}` | a file of the source |
| `PUT /v1/tasks/{task}/attempts/{attempt}/artifact/{digest}` | the bundle's zip → 204; header `RLX-Attempt-Token` |
| `POST /v1/tasks/{task}/attempts/{attempt}/result` | `Result` → 204 |

Each of them but the source is answered 409 once the attempt is over (its lease ran out, the job was cancelled): the
worker then stops its child and drops the message. Each can be repeated with the same token after a lost answer.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field, FiniteFloat, StringConstraints, model_validator

from rlx_wire.api import Answer, Digest, JobOptions, Progress, Request, SourceFile
from rlx_wire.problem import Problem
from rlx_wire.scalars import NUMBER

__all__ = [
    "COMPILE_TASK",
    "TOKEN_HEADER",
    "Assignment",
    "Claim",
    "CompileMessage",
    "Heartbeat",
    "Lease",
    "Outcome",
    "Result",
    "Token",
    "queue_of",
]

COMPILE_TASK: Final = "rlx.compile"
TOKEN_HEADER: Final = "RLX-Attempt-Token"

Token = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
"""32 hex digits that a worker draws for one claim; who knows them holds the attempt."""

Outcome = Literal["succeeded", "failed", "abandoned"]
"""`failed` is final: the program or its limits are at fault. `abandoned`: the worker is; the task is tried again."""


def queue_of(target: str) -> str:
    """The Celery queue of a target, `llvm:x86-64-v4` → `compile.llvm`; a worker consumes those it has tools for."""
    return f"compile.{target.partition(':')[0]}"


class CompileMessage(Request):
    """The keyword arguments of the Celery task `rlx.compile`."""

    task_id: str
    attempt: int = Field(ge=1)
    request_id: str


class Claim(Request):
    """`token` is drawn by the worker for this claim: a repeated claim with it gets the same answer."""

    token: Token
    worker: str = Field(pattern=r"^[\x21-\x7e]{1,255}$")
    compiler_version: str = Field(pattern=r"^[\x21-\x7e]{1,64}$")


class Lease(Answer):
    """For how long the attempt is the worker's without a further heartbeat."""

    seconds: float


class Assignment(Answer):
    """All that a worker needs for one attempt."""

    task_id: str
    attempt: int
    lease: Lease
    program_digest: Digest
    target: str
    cpu: str
    options: JobOptions
    source: tuple[SourceFile, ...]


class Heartbeat(Request):
    """I live, and am this far."""

    token: Token
    progress: Progress | None = None


class Result(Request):
    """How an attempt ended. Before `succeeded`, the artifact has been uploaded whole."""

    token: Token
    outcome: Outcome
    artifact: Digest | None = None
    problem: Problem | None = None
    seconds_by_phase: dict[str, Annotated[FiniteFloat, NUMBER]] = Field(default={}, max_length=256)

    @model_validator(mode="after")
    def _says_why(self) -> Result:
        if (self.outcome == "succeeded") != (self.artifact is not None):
            raise ValueError("an artifact belongs to success, and to success only")
        if (self.outcome == "succeeded") == (self.problem is not None):
            raise ValueError("a problem belongs to every outcome but success")
        return self
