"""Jobs, their tasks and their history, as they are read."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlmodel import Session, col, select
from sqlmodel.sql.expression import SelectOfScalar

from rlx_base.errors import RequestError
from rlx_compile_api.repository.paging import page
from rlx_compile_api.tables import AttemptRow, EventRow, JobRow, JobTaskRow, TaskRow
from rlx_wire.api import Attempt, Job, JobEvent, JobOptions, JobState, Page, Progress, Task
from rlx_wire.problem import Problem

__all__ = ["events_after", "get_job", "get_task_row", "list_jobs", "tasks_of"]


def get_job(session: Session, job: str) -> Job:
    """Raises E430."""
    row = session.get(JobRow, job)
    if row is None:
        raise RequestError("E430", what=f"job {job!r}", hint="`rlx jobs` lists the jobs")
    return _job(session, row)


def list_jobs(session: Session, cursor: str | None, limit: int, state: JobState | None, model: str | None) -> Page[Job]:
    """The newest first."""
    query: SelectOfScalar[JobRow] = select(JobRow)
    if state is not None:
        query = query.where(col(JobRow.state) == state)
    if model is not None:
        query = query.where(col(JobRow.model) == model)
    return page(session, query, [col(JobRow.id)], lambda row: _job(session, row), cursor, limit)


def tasks_of(job: str) -> SelectOfScalar[TaskRow]:
    """The tasks that a job wants, in its order."""
    query = select(TaskRow).join(JobTaskRow, col(JobTaskRow.task) == TaskRow.id).where(JobTaskRow.job == job)
    return query.order_by(col(JobTaskRow.position))


def get_task_row(session: Session, task: str) -> TaskRow:
    """A task, held against other writers until the transaction ends. Raises E430."""
    row = session.exec(select(TaskRow).where(TaskRow.id == task).with_for_update()).first()
    if row is None:
        raise RequestError("E430", what=f"task {task!r}", hint="drop the message: its job is not known here")
    return row


def events_after(session: Session, job: str, number: int, limit: int = 500) -> list[JobEvent]:
    """The next stretch of a job's history."""
    query = select(EventRow).where(EventRow.job == job, EventRow.number > number)
    rows = session.exec(query.order_by(col(EventRow.number)).limit(limit))
    return [JobEvent.model_validate(row.event) for row in rows]


def moment(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def _job(session: Session, row: JobRow) -> Job:
    tasks = session.exec(tasks_of(row.id)).all()
    attempts: dict[str, list[Attempt]] = {task.id: [] for task in tasks}
    query = select(AttemptRow).where(col(AttemptRow.task).in_(attempts)).order_by(col(AttemptRow.number))
    for attempt in session.exec(query):
        attempts[attempt.task].append(_attempt(attempt))
    return Job(
        id=row.id,
        state=row.state,
        model=row.model,
        version=row.version,
        program_digest=row.program_digest,
        options=JobOptions.model_validate(row.options),
        tasks=tuple(_task(task, attempts[task.id]) for task in tasks),
        created_at=datetime.fromtimestamp(row.created_at, UTC),
        started_at=moment(row.started_at),
        ended_at=moment(row.ended_at),
    )


def _task(row: TaskRow, attempts: list[Attempt]) -> Task:
    return Task(
        id=row.id,
        target=row.target,
        cpu=row.cpu,
        state=row.state,
        attempt=row.attempt,
        losses=row.losses,
        progress=Progress.model_validate(row.progress) if row.progress else None,
        attempts=tuple(attempts),
        artifact=row.artifact,
        problem=Problem.model_validate(row.problem) if row.problem else None,
        created_at=datetime.fromtimestamp(row.created_at, UTC),
        ended_at=moment(row.ended_at),
    )


def _attempt(row: AttemptRow) -> Attempt:
    return Attempt(
        number=row.number,
        state=row.state,
        worker=row.worker,
        started_at=datetime.fromtimestamp(row.started_at, UTC),
        ended_at=moment(row.ended_at),
        seconds_by_phase=row.seconds_by_phase,
    )
