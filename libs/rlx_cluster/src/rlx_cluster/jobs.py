"""The life of a compile task as a pure state machine: events in, the next state and instructions out.

```
            claim                 report: succeeded
  queued ──────────▶ running ────────────────────────▶ succeeded
    ▲  │                │ │       report: failed
    │  │ cancel         │ └──────────────────────────▶ failed
    │  └───▶ cancelled ◀┘ cancel                          ▲
    │                   │ lease over, or abandoned        │
    └───────────────────┴─────────────────────────────────┘
      fewer than `max_losses` losses          the last one
```

An **attempt** is one worker's try. Attempts are numbered from 1, and each report names its number: what comes from an
attempt that is not the current one is refused (compare-and-set), so a worker that was thought dead changes nothing.
While it runs, an attempt holds a **lease** that its heartbeats renew; one clock, the caller's, decides when it is over.
Messages may be lost, doubled and reordered: a message only says which attempt somebody may try to claim.

The caller keeps the `Task`, calls `step` and carries out the instructions in the same transaction.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, Generic, Literal, TypeAlias, TypeVar

__all__ = [
    "FINAL",
    "AttemptEnded",
    "AttemptStarted",
    "Cancel",
    "Claim",
    "Event",
    "Heartbeat",
    "Instruction",
    "Over",
    "Policy",
    "Publish",
    "Report",
    "State",
    "Step",
    "Task",
    "TaskEnded",
    "Tick",
    "job_state",
    "step",
    "submit",
]

State = Literal["queued", "running", "succeeded", "failed", "cancelled"]
FINAL: Final[frozenset[State]] = frozenset({"succeeded", "failed", "cancelled"})

Outcome = Literal["succeeded", "failed", "abandoned"]
AttemptOutcome = Literal["succeeded", "failed", "cancelled", "lost"]
Payload = TypeVar("Payload")
"""What the caller attaches to a result (an artifact's digest, a problem); the machine only carries it."""


@dataclass(frozen=True, slots=True)
class Policy:
    """`lease`: seconds an attempt lives without a heartbeat. `max_losses`: losses after which a task fails."""

    lease: float = 3.0
    max_losses: int = 5


@dataclass(frozen=True, slots=True)
class Task:
    """`attempt` is the last number that was claimed (0: none). `token` names its holder, `expires` ends its lease."""

    id: str
    state: State = "queued"
    attempt: int = 0
    losses: int = 0
    token: str | None = None
    expires: float | None = None

    def __post_init__(self) -> None:
        assert (self.state == "running") == (self.expires is not None), "a lease is held exactly while running"
        assert self.losses <= self.attempt, "only an attempt can be lost"


# ── events ───────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Claim:
    """A worker wants attempt `attempt`; `token` tells a repeated claim from a rival's."""

    attempt: int
    token: str


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The holder of `attempt` lives."""

    attempt: int
    token: str


@dataclass(frozen=True, slots=True)
class Report(Generic[Payload]):
    """The holder of `attempt` is done: `failed` is the program's fault and final, `abandoned` the worker's."""

    attempt: int
    token: str
    outcome: Outcome
    payload: Payload


@dataclass(frozen=True, slots=True)
class Cancel:
    """Nobody wants the result any more."""


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed."""


Event: TypeAlias = Claim | Heartbeat | Report[Payload] | Cancel | Tick


# ── instructions ─────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Publish:
    """Send the message that offers attempt `attempt`."""

    attempt: int


@dataclass(frozen=True, slots=True)
class AttemptStarted:
    number: int


@dataclass(frozen=True, slots=True)
class AttemptEnded:
    number: int
    outcome: AttemptOutcome


@dataclass(frozen=True, slots=True)
class TaskEnded(Generic[Payload]):
    """Given exactly once in a task's life. `payload` is the report's; None after a cancel or too many losses."""

    state: State
    payload: Payload | None


Instruction: TypeAlias = Publish | AttemptStarted | AttemptEnded | TaskEnded[Payload]


@dataclass(frozen=True, slots=True)
class Over:
    """The answer to a worker whose attempt is not, or no longer, its own: why."""

    why: str


@dataclass(frozen=True, slots=True)
class Step(Generic[Payload]):
    """What follows from an event. `refusal` is set where the event came from an attempt that is over."""

    task: Task
    instructions: tuple[Instruction[Payload], ...] = ()
    refusal: Over | None = None


# ── the machine ──────────────────────────────────────────────────────────────


def submit(task_id: str) -> Step[Payload]:
    """A new task, with the message that offers its first attempt."""
    return Step(Task(task_id), (Publish(1),))


def step(task: Task, event: Event[Payload], now: float, policy: Policy) -> Step[Payload]:
    """The task after `event` at `now`, and what to do about it. A final task never changes."""
    match event:
        case Claim(attempt, token):
            return _claim(task, attempt, token, now, policy)
        case Heartbeat(attempt, token):
            if not _holds(task, attempt, token):
                return Step(task, refusal=_over(task, attempt))
            return Step(replace(task, expires=now + policy.lease))
        case Report():
            return _report(task, event, policy)
        case Cancel():
            return _cancel(task)
        case Tick():
            if task.expires is None or now < task.expires:
                return Step(task)
            return _lose(task, policy)


def job_state(*, cancelled: bool, tasks: Iterable[State]) -> State:
    """The state of a job from its tasks': running once one of them was started, final once all are."""
    if cancelled:
        return "cancelled"
    states = set(tasks)
    if states <= FINAL:
        # A task that another job's cancel took along counts as a failure of this one: it has no artifact.
        return "succeeded" if states == {"succeeded"} else "failed"
    return "queued" if states == {"queued"} else "running"


def _holds(task: Task, attempt: int, token: str) -> bool:
    return task.state == "running" and task.attempt == attempt and task.token == token


def _claim(task: Task, attempt: int, token: str, now: float, policy: Policy) -> Step[Payload]:
    if _holds(task, attempt, token):  # the answer to the first claim was lost
        return Step(replace(task, expires=now + policy.lease))
    if task.state != "queued" or attempt != task.attempt + 1:
        return Step(task, refusal=_over(task, attempt))
    claimed = replace(task, state="running", attempt=attempt, token=token, expires=now + policy.lease)
    return Step(claimed, (AttemptStarted(attempt),))


def _report(task: Task, report: Report[Payload], policy: Policy) -> Step[Payload]:
    if not _holds(task, report.attempt, report.token):
        same = (task.attempt, task.token, task.state) == (report.attempt, report.token, report.outcome)
        return Step(task, refusal=None if same else _over(task, report.attempt))
    if report.outcome == "abandoned":
        return _lose(task, policy)
    ended = replace(task, state=report.outcome, expires=None)
    return Step(ended, (AttemptEnded(report.attempt, report.outcome), TaskEnded(report.outcome, report.payload)))


def _cancel(task: Task) -> Step[Payload]:
    if task.state in FINAL:
        return Step(task)
    ended: tuple[Instruction[Payload], ...] = (TaskEnded("cancelled", None),)
    if task.state == "running":
        ended = (AttemptEnded(task.attempt, "cancelled"), *ended)
    return Step(replace(task, state="cancelled", expires=None), ended)


def _lose(task: Task, policy: Policy) -> Step[Payload]:
    losses = task.losses + 1
    ended = AttemptEnded(task.attempt, "lost")
    if losses >= policy.max_losses:
        failed = replace(task, state="failed", losses=losses, expires=None)
        return Step(failed, (ended, TaskEnded("failed", None)))
    queued = replace(task, state="queued", losses=losses, token=None, expires=None)
    return Step(queued, (ended, Publish(task.attempt + 1)))


def _over(task: Task, attempt: int) -> Over:
    if task.state in FINAL:
        return Over(f"the task has {task.state}" if task.state != "cancelled" else "the task was cancelled")
    if attempt > task.attempt + 1:
        return Over(f"the next attempt is {task.attempt + 1}")
    if task.state == "running" and task.attempt == attempt:
        return Over("another worker has it")
    return Over(f"attempt {task.attempt + 1} is next" if task.state == "queued" else f"attempt {task.attempt} is on")
