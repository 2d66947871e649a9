"""The tables. Times are seconds since 1970 by the service's clock; JSON columns hold schemas of `rlx_wire.api`.

Two unique indexes carry the promise that identical posts make one compile: among the jobs, and among the tasks, that
are not failed or cancelled, a key stands once.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import JSON, BigInteger, Column, Float, Index, text
from sqlmodel import Field, SQLModel

__all__ = [
    "ArtifactRow",
    "AttemptRow",
    "DeploymentRow",
    "EventRow",
    "JobRow",
    "JobTaskRow",
    "KeyRow",
    "ModelRow",
    "OutboxRow",
    "ProfileRow",
    "RevisionRow",
    "TaskRow",
    "VersionRow",
]

LIVE = text("state NOT IN ('failed', 'cancelled')")


class ModelRow(SQLModel, table=True):
    __tablename__ = "models"

    name: str = Field(primary_key=True, max_length=128)
    created_at: float = Field(sa_type=Float(53))


class VersionRow(SQLModel, table=True):
    """`source` lists the files of the upload, which are blobs."""

    __tablename__ = "model_versions"
    __table_args__ = (Index("one_version_a_program", "model", "program_digest", unique=True),)

    model: str = Field(primary_key=True, foreign_key="models.name", max_length=128)
    version: int = Field(primary_key=True)
    module: str
    program_digest: str = Field(index=True, max_length=64)
    meaning_digest: str = Field(max_length=64)
    inputs: list[Any] = Field(sa_column=Column(JSON, nullable=False))
    outputs: list[Any] = Field(sa_column=Column(JSON, nullable=False))
    source: list[Any] = Field(sa_column=Column(JSON, nullable=False))
    created_at: float = Field(sa_type=Float(53))


class JobRow(SQLModel, table=True):
    """`events` counts the rows of the job's history, and so numbers the next."""

    __tablename__ = "jobs"
    __table_args__ = (Index("one_live_job_a_key", "key", unique=True, sqlite_where=LIVE, postgresql_where=LIVE),)

    id: str = Field(primary_key=True, max_length=32)
    key: str = Field(max_length=64)
    state: str = Field(index=True, max_length=16)
    cancelled: bool = False
    model: str = Field(index=True, max_length=128)
    version: int
    program_digest: str = Field(max_length=64)
    options: dict[str, Any] = Field(sa_column=Column(JSON, nullable=False))
    request_id: str = Field(max_length=128)
    events: int = 0
    created_at: float = Field(sa_type=Float(53))
    started_at: float | None = Field(default=None, sa_type=Float(53))
    ended_at: float | None = Field(default=None, sa_type=Float(53))


class TaskRow(SQLModel, table=True):
    """One compile for one target, with the fields of `rlx_cluster.jobs.Task`.

    `published_at` is when the message of the next attempt was last handed to the broker.
    """

    __tablename__ = "tasks"
    __table_args__ = (
        Index("one_live_task_a_key", "key", unique=True, sqlite_where=LIVE, postgresql_where=LIVE),
        Index("tasks_by_lease", "state", "expires"),
    )

    id: str = Field(primary_key=True, max_length=32)
    key: str = Field(max_length=64)
    program_digest: str = Field(index=True, max_length=64)
    target: str = Field(max_length=64)
    cpu: str = Field(max_length=64)
    options: dict[str, Any] = Field(sa_column=Column(JSON, nullable=False))
    compiler_version: str = Field(max_length=64)
    source: list[Any] = Field(sa_column=Column(JSON, nullable=False))
    request_id: str = Field(max_length=128)
    state: str = Field(max_length=16)
    attempt: int = 0
    losses: int = 0
    token: str | None = Field(default=None, max_length=64)
    expires: float | None = Field(default=None, sa_type=Float(53))
    published_at: float | None = Field(default=None, sa_type=Float(53))
    progress: dict[str, Any] | None = Field(default=None, sa_column=Column(JSON(none_as_null=True)))
    artifact: str | None = Field(default=None, max_length=64)
    problem: dict[str, Any] | None = Field(default=None, sa_column=Column(JSON(none_as_null=True)))
    created_at: float = Field(sa_type=Float(53))
    ended_at: float | None = Field(default=None, sa_type=Float(53))


class JobTaskRow(SQLModel, table=True):
    """A job wants a task; two jobs may want the same one."""

    __tablename__ = "job_tasks"

    job: str = Field(primary_key=True, foreign_key="jobs.id", max_length=32)
    task: str = Field(primary_key=True, foreign_key="tasks.id", index=True, max_length=32)
    position: int


class AttemptRow(SQLModel, table=True):
    __tablename__ = "attempts"

    task: str = Field(primary_key=True, foreign_key="tasks.id", max_length=32)
    number: int = Field(primary_key=True)
    state: str = Field(max_length=16)
    worker: str = Field(max_length=255)
    started_at: float = Field(sa_type=Float(53))
    ended_at: float | None = Field(default=None, sa_type=Float(53))
    seconds_by_phase: dict[str, Any] = Field(default_factory=dict, sa_column=Column(JSON, nullable=False))


class EventRow(SQLModel, table=True):
    """A `JobEvent` as it is sent."""

    __tablename__ = "job_events"

    job: str = Field(primary_key=True, foreign_key="jobs.id", max_length=32)
    number: int = Field(primary_key=True)
    event: dict[str, Any] = Field(sa_column=Column(JSON, nullable=False))


class OutboxRow(SQLModel, table=True):
    """A message that a committed change owes to the broker; the row goes once it was sent."""

    __tablename__ = "outbox"

    id: int | None = Field(default=None, primary_key=True)
    task: str = Field(foreign_key="tasks.id", index=True, max_length=32)
    attempt: int
    queue: str = Field(max_length=128)
    request_id: str = Field(max_length=128)


class ArtifactRow(SQLModel, table=True):
    """A committed bundle: only with this row is it visible."""

    __tablename__ = "artifacts"

    digest: str = Field(primary_key=True, max_length=64)
    program_digest: str = Field(index=True, max_length=64)
    target: str = Field(max_length=64)
    cpu: str = Field(max_length=64)
    compiler_version: str = Field(max_length=64)
    bytes: int = Field(sa_type=BigInteger)
    created_at: float = Field(sa_type=Float(53))


class DeploymentRow(SQLModel, table=True):
    __tablename__ = "deployments"

    name: str = Field(primary_key=True, max_length=128)
    model: str = Field(max_length=128)
    version: int
    program_digest: str = Field(max_length=64)
    targets: list[Any] = Field(sa_column=Column(JSON, nullable=False))
    replicas: int
    node_selector: dict[str, Any] = Field(sa_column=Column(JSON, nullable=False))
    created_at: float = Field(sa_type=Float(53))
    updated_at: float = Field(sa_type=Float(53))


class RevisionRow(SQLModel, table=True):
    """Counts the changes of a list that is long-polled."""

    __tablename__ = "revisions"

    name: str = Field(primary_key=True, max_length=32)
    value: int


class ProfileRow(SQLModel, table=True):
    __tablename__ = "profiles"

    id: str = Field(primary_key=True, max_length=32)
    digest: str = Field(max_length=64)
    bytes: int = Field(sa_type=BigInteger)
    model: str | None = Field(default=None, max_length=128)
    note: str | None = Field(default=None, max_length=1024)
    created_at: float = Field(sa_type=Float(53))


class KeyRow(SQLModel, table=True):
    """An API key. `digest` is the SHA-256 of its secret, which is not stored."""

    __tablename__ = "api_keys"

    id: str = Field(primary_key=True, max_length=32)
    name: str = Field(max_length=128)
    scopes: list[Any] = Field(sa_column=Column(JSON, nullable=False))
    digest: str = Field(max_length=64)
    created_at: float = Field(sa_type=Float(53))
