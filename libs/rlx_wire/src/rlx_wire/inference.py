"""RLX's own inference call, `POST /v1/infer`: what is asked, what comes back, and why it ran where it ran."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from rlx_wire.scalars import Flag
from rlx_wire.tensors import Tensor

__all__ = [
    "Attempt",
    "Candidate",
    "Decision",
    "InferRequest",
    "InferResponse",
    "ScheduleHint",
    "Timings",
    "Version",
]

# Versions are counted by compile-api; people write 3 as often as "3".
Version = Annotated[str, BeforeValidator(lambda v: str(v) if type(v) is int else v), Field(pattern=r"^[0-9]{1,18}$")]


class ScheduleHint(BaseModel):
    """A wish for where to run: a preference, not a promise, unless `required`."""

    model_config = ConfigDict(extra="forbid")

    preferred_devices: tuple[str, ...] = ()
    output_location: str | None = None
    required: Flag = False


class InferRequest(BaseModel):
    """`POST /v1/infer`. Without a version the latest is meant; without a target, any that is loaded.

    The answer's tensors have the form of the question's: base64 where an input came in base64, numbers
    otherwise.
    """

    # JSON has no NaN and no infinity. Where a request with Python's names for them is passed on, they stay.
    model_config = ConfigDict(
        extra="forbid",
        ser_json_inf_nan="constants",
        json_schema_extra={
            "examples": [{"model": "m", "inputs": {"x": {"dtype": "float32", "shape": [1, 2], "data": [[1, 2]]}}}]
        },
    )

    model: str
    version: Version | None = None
    target: str | None = None
    inputs: dict[str, Tensor]
    schedule_hint: ScheduleHint | None = None
    profile: Flag = False
    """Whether to time every kernel of this run and answer with the trace."""


class Timings(BaseModel):
    """Where the time of one request went, in nanoseconds. The parts sum to `total_ns` exactly.

    `transfer` is what remains of the wall time beside the others: the way to the node and back, seen by the
    first actor that took the request.
    """

    model_config = ConfigDict(frozen=True)

    queue_ns: int = 0
    transfer_ns: int = 0
    compute_input_ns: int = 0
    compute_ns: int = 0
    compute_output_ns: int = 0
    profile_ns: int = 0
    """What a profile cost beside the run: the first one on a node measures what the machine can give."""
    total_ns: int = 0

    @classmethod
    def within(
        cls,
        total_ns: int,
        *,
        queue_ns: int,
        compute_input_ns: int,
        compute_ns: int,
        compute_output_ns: int,
        profile_ns: int = 0,
    ) -> Timings:
        """The parts that were measured, and the rest of `total_ns` as transfer."""
        known = queue_ns + compute_input_ns + compute_ns + compute_output_ns + profile_ns
        return cls(
            queue_ns=queue_ns,
            transfer_ns=max(0, total_ns - known),
            compute_input_ns=compute_input_ns,
            compute_ns=compute_ns,
            compute_output_ns=compute_output_ns,
            profile_ns=profile_ns,
            total_ns=max(total_ns, known),
        )


class Candidate(BaseModel):
    """One place where a request could run, with the parts of its cost in microseconds."""

    model_config = ConfigDict(frozen=True)

    node: str
    device: str
    version: str
    target: str
    digest: str
    cost_us: int
    run_us: int
    transfer_us: int
    queue_us: int
    preferred: bool = False


class Attempt(BaseModel):
    """A candidate that was tried, and how it ended: `ok`, or the code and text of its error."""

    model_config = ConfigDict(frozen=True)

    node: str
    device: str
    outcome: str


class Decision(BaseModel):
    """Why a request ran where it ran. With the view of that version, placement answers these candidates
    again.
    """

    model_config = ConfigDict(frozen=True)

    request_id: str
    view_version: int
    candidates: tuple[Candidate, ...] = ()
    reason: str = ""
    attempts: tuple[Attempt, ...] = ()


class InferResponse(BaseModel):
    """The outputs, and where, how long and why."""

    model: str
    version: str
    target: str
    node: str
    device: str
    outputs: dict[str, Tensor]
    timings: Timings
    decision: Decision
    profile: dict[str, Any] | None = None
    """The Chrome trace of the run, where it was asked for."""
