"""The one place where the state of a task or a job changes.

`rlx_cluster.jobs` decides; here its instructions become rows, in the transaction that reads the state they follow from.
Rows are locked in one order, tasks (by id) before jobs, so that two changes wait for each other and never in a circle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeAlias

from sqlmodel import Session, col, select

from rlx_base.errors import ClusterError, RequestError
from rlx_cluster import jobs
from rlx_compile_api.database import Database
from rlx_compile_api.repository.artifacts import add_artifact
from rlx_compile_api.repository.deployments import deployments_changed
from rlx_compile_api.repository.jobs import get_task_row, tasks_of
from rlx_compile_api.tables import (
    ArtifactRow,
    AttemptRow,
    DeploymentRow,
    EventRow,
    JobRow,
    JobTaskRow,
    OutboxRow,
    TaskRow,
)
from rlx_wire.api import JobEvent, Progress
from rlx_wire.jobs import queue_of
from rlx_wire.problem import Problem

__all__ = ["Orchestration", "Success", "Verdict"]


@dataclass(frozen=True, slots=True)
class Success:
    """What a succeeded attempt brings: the row of its bundle."""

    artifact: ArtifactRow


Verdict: TypeAlias = Success | Problem
Event: TypeAlias = jobs.Event[Verdict]


class Orchestration:
    """Changes states; `changed` is called after each change, for those who wait and for the outbox."""

    def __init__(
        self,
        database: Database,
        policy: jobs.Policy,
        clock: Callable[[], float],
        changed: Callable[[], None],
    ) -> None:
        self.database = database
        self.policy = policy
        self.clock = clock
        self.changed = changed

    def change(self, task: str, event: Event, *, worker: str = "", seconds: dict[str, float] | None = None) -> TaskRow:
        """A task after `event`. Raises E434 where it comes from an attempt that is over, E430 for an unknown task."""

        def work(session: Session) -> TaskRow:
            row = get_task_row(session, task)
            refusal = self.advance(session, row, event, worker=worker, seconds=seconds)
            if refusal is not None:
                attempt = getattr(event, "attempt", row.attempt)
                raise RequestError("E434", attempt=attempt, task=task, why=refusal.why)
            return row

        row = self.database.write(work)
        self.changed()
        return row

    def note_progress(self, task: str, heartbeat: jobs.Heartbeat, progress: Progress | None) -> TaskRow:
        """Renews the lease; a new phase or share becomes an event. Raises E434, E430."""

        def work(session: Session) -> TaskRow:
            row = get_task_row(session, task)
            refusal = self.advance(session, row, heartbeat)
            if refusal is not None:
                raise RequestError("E434", attempt=heartbeat.attempt, task=task, why=refusal.why)
            if progress is not None and row.progress != progress.model_dump():
                row.progress = progress.model_dump()
                for job in self._jobs_of(session, row):
                    self._tell(session, job, kind="progress", task=row, progress=progress)
            return row

        row = self.database.write(work)
        self.changed()
        return row

    def submit_task(self, session: Session, row: TaskRow) -> None:
        """Adds a new task with the message of its first attempt."""
        session.add(row)
        session.flush()
        self._obey(session, row, jobs.submit(row.id))

    def submit_job(self, session: Session, row: JobRow, tasks: list[TaskRow]) -> None:
        """Adds a new job that wants `tasks`, some of which may have begun, or be done, for another one."""
        session.add(row)
        session.flush()
        session.add_all(JobTaskRow(job=row.id, task=task.id, position=at) for at, task in enumerate(tasks))
        session.flush()
        self._tell(session, row, kind="job", state="queued")
        self._settle(session, row)

    def cancel_job(self, job: str) -> None:
        """Ends a job, and those of its tasks that no other job wants. Of an ended job: nothing. Raises E430."""

        def work(session: Session) -> None:
            if session.get(JobRow, job) is None:
                raise RequestError("E430", what=f"job {job!r}", hint="`rlx jobs` lists the jobs")
            tasks = self._locked(session, job)
            row = session.get_one(JobRow, job, with_for_update=True, populate_existing=True)
            if row.state in jobs.FINAL:
                return
            row.cancelled = True
            self._settle(session, row)
            for task in tasks:
                if not any(other.state not in jobs.FINAL for other in self._jobs_of(session, task)):
                    self.advance(session, task, jobs.Cancel())

        self.database.write(work)
        self.changed()

    def advance(
        self,
        session: Session,
        row: TaskRow,
        event: Event,
        *,
        worker: str = "",
        seconds: dict[str, float] | None = None,
    ) -> jobs.Over | None:
        """Every change of a task's state passes here. `row` is locked by the caller."""
        state = jobs.Task(row.id, _state(row.state), row.attempt, row.losses, row.token, row.expires)
        step = jobs.step(state, event, self.clock(), self.policy)
        self._obey(session, row, step, worker=worker, seconds=seconds)
        return step.refusal

    def _obey(
        self,
        session: Session,
        row: TaskRow,
        step: jobs.Step[Verdict],
        *,
        worker: str = "",
        seconds: dict[str, float] | None = None,
    ) -> None:
        now, task = self.clock(), step.task
        row.state, row.attempt, row.losses = task.state, task.attempt, task.losses
        row.token, row.expires = task.token, task.expires
        for instruction in step.instructions:
            match instruction:
                case jobs.Publish(attempt):
                    self.owe_message(session, row, attempt)
                case jobs.AttemptStarted(number):
                    row.progress = None
                    session.add(AttemptRow(task=row.id, number=number, state="running", worker=worker, started_at=now))
                case jobs.AttemptEnded(number, outcome):
                    attempt_row = session.get_one(AttemptRow, (row.id, number))
                    attempt_row.state, attempt_row.ended_at = outcome, now
                    attempt_row.seconds_by_phase = seconds or {}
                case jobs.TaskEnded(_, payload):
                    self._end(session, row, payload, now)
        session.flush()
        if step.instructions:
            for job in self._jobs_of(session, row):
                self._tell(session, job, kind="task", task=row, state=row.state)
                self._settle(session, job)

    def owe_message(self, session: Session, row: TaskRow, attempt: int) -> None:
        """Puts the offer of an attempt into the outbox."""
        row.published_at = None
        session.add(OutboxRow(task=row.id, attempt=attempt, queue=queue_of(row.target), request_id=row.request_id))

    def _end(self, session: Session, row: TaskRow, verdict: Verdict | None, now: float) -> None:
        row.ended_at = now
        match verdict:
            case Success(artifact):
                row.artifact = artifact.digest
                add_artifact(session, artifact)
                watched = select(DeploymentRow).where(DeploymentRow.program_digest == row.program_digest)
                if session.exec(watched).first() is not None:
                    deployments_changed(session)
            case Problem():
                row.problem = verdict.model_dump(mode="json", exclude_none=True)
            case None if row.state == "failed":
                lost = Problem.of(ClusterError("E530", task=row.id, losses=row.losses))
                row.problem = lost.model_dump(mode="json", exclude_none=True)

    def _settle(self, session: Session, job: JobRow) -> None:
        """Brings a job's state in line with its tasks'."""
        if job.state in jobs.FINAL:
            return
        states = [_state(task.state) for task in session.exec(tasks_of(job.id))]
        state = jobs.job_state(cancelled=job.cancelled, tasks=states)
        if state == job.state:
            return
        job.state, now = state, self.clock()
        if state != "queued":
            job.started_at = job.started_at or now
        if state in jobs.FINAL:
            job.ended_at = now
        self._tell(session, job, kind="job", state=state)
        session.flush()

    def _tell(
        self,
        session: Session,
        job: JobRow,
        *,
        kind: str,
        state: str | None = None,
        task: TaskRow | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Adds a line to a job's history."""
        job.events += 1
        event = JobEvent(
            id=job.events,
            kind=kind,
            at=datetime.fromtimestamp(self.clock(), UTC),
            state=state,
            task=task.id if task else None,
            target=task.target if task else None,
            attempt=task.attempt if task else None,
            progress=progress,
            artifact=task.artifact if task else None,
            problem=Problem.model_validate(task.problem) if task and task.problem else None,
        )
        session.add(EventRow(job=job.id, number=event.id, event=event.model_dump(mode="json", exclude_none=True)))

    def _jobs_of(self, session: Session, task: TaskRow) -> list[JobRow]:
        """The jobs that want a task, locked."""
        query = select(JobRow).join(JobTaskRow, col(JobTaskRow.job) == JobRow.id).where(JobTaskRow.task == task.id)
        locked = query.order_by(col(JobRow.id)).with_for_update(of=JobRow)
        return list(session.exec(locked, execution_options={"populate_existing": True}))

    def _locked(self, session: Session, job: str) -> list[TaskRow]:
        query = select(TaskRow).join(JobTaskRow, col(JobTaskRow.task) == TaskRow.id).where(JobTaskRow.job == job)
        locked = query.order_by(col(TaskRow.id)).with_for_update(of=TaskRow)
        return list(session.exec(locked, execution_options={"populate_existing": True}))


def _state(text: str) -> jobs.State:
    assert text in jobs.FINAL or text in {"queued", "running"}
    return text  # type: ignore[return-value]
