"""The tables of version 0.1."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

LIVE = sa.text("state NOT IN ('failed', 'cancelled')")


def upgrade() -> None:
    op.create_table(
        "artifacts",
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("program_digest", sa.String(64), nullable=False),
        sa.Column("target", sa.String(64), nullable=False),
        sa.Column("cpu", sa.String(64), nullable=False),
        sa.Column("compiler_version", sa.String(64), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.Float(precision=53), nullable=False),
        sa.PrimaryKeyConstraint("digest"),
    )
    op.create_index("ix_artifacts_program_digest", "artifacts", ["program_digest"])
    op.create_table(
        "deployments",
        sa.Column("name", sa.String(128), nullable=False),
        sa.Column("model", sa.String(128), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("program_digest", sa.String(64), nullable=False),
        sa.Column("targets", sa.JSON(), nullable=False),
        sa.Column("replicas", sa.Integer(), nullable=False),
        sa.Column("node_selector", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.Float(precision=53), nullable=False),
        sa.Column("updated_at", sa.Float(precision=53), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "jobs",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("key", sa.String(64), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("cancelled", sa.Boolean(), nullable=False),
        sa.Column("model", sa.String(128), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("program_digest", sa.String(64), nullable=False),
        sa.Column("options", sa.JSON(), nullable=False),
        sa.Column("request_id", sa.String(128), nullable=False),
        sa.Column("events", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.Float(precision=53), nullable=False),
        sa.Column("started_at", sa.Float(precision=53), nullable=True),
        sa.Column("ended_at", sa.Float(precision=53), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_jobs_model", "jobs", ["model"])
    op.create_index("ix_jobs_state", "jobs", ["state"])
    op.create_index("one_live_job_a_key", "jobs", ["key"], unique=True, sqlite_where=LIVE, postgresql_where=LIVE)
    op.create_table(
        "models",
        sa.Column("name", sa.String(128), nullable=False),
        sa.Column("created_at", sa.Float(precision=53), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "profiles",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("model", sa.String(128), nullable=True),
        sa.Column("note", sa.String(1024), nullable=True),
        sa.Column("created_at", sa.Float(precision=53), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "revisions",
        sa.Column("name", sa.String(32), nullable=False),
        sa.Column("value", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "tasks",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("key", sa.String(64), nullable=False),
        sa.Column("program_digest", sa.String(64), nullable=False),
        sa.Column("target", sa.String(64), nullable=False),
        sa.Column("cpu", sa.String(64), nullable=False),
        sa.Column("options", sa.JSON(), nullable=False),
        sa.Column("compiler_version", sa.String(64), nullable=False),
        sa.Column("source", sa.JSON(), nullable=False),
        sa.Column("request_id", sa.String(128), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("losses", sa.Integer(), nullable=False),
        sa.Column("token", sa.String(64), nullable=True),
        sa.Column("expires", sa.Float(precision=53), nullable=True),
        sa.Column("published_at", sa.Float(precision=53), nullable=True),
        sa.Column("progress", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("artifact", sa.String(64), nullable=True),
        sa.Column("problem", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("created_at", sa.Float(precision=53), nullable=False),
        sa.Column("ended_at", sa.Float(precision=53), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_tasks_program_digest", "tasks", ["program_digest"])
    op.create_index("one_live_task_a_key", "tasks", ["key"], unique=True, sqlite_where=LIVE, postgresql_where=LIVE)
    op.create_index("tasks_by_lease", "tasks", ["state", "expires"])
    op.create_table(
        "attempts",
        sa.Column("task", sa.String(32), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("worker", sa.String(255), nullable=False),
        sa.Column("started_at", sa.Float(precision=53), nullable=False),
        sa.Column("ended_at", sa.Float(precision=53), nullable=True),
        sa.Column("seconds_by_phase", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["task"], ["tasks.id"]),
        sa.PrimaryKeyConstraint("task", "number"),
    )
    op.create_table(
        "job_events",
        sa.Column("job", sa.String(32), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("event", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["job"], ["jobs.id"]),
        sa.PrimaryKeyConstraint("job", "number"),
    )
    op.create_table(
        "job_tasks",
        sa.Column("job", sa.String(32), nullable=False),
        sa.Column("task", sa.String(32), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["job"], ["jobs.id"]),
        sa.ForeignKeyConstraint(["task"], ["tasks.id"]),
        sa.PrimaryKeyConstraint("job", "task"),
    )
    op.create_index("ix_job_tasks_task", "job_tasks", ["task"])
    op.create_table(
        "model_versions",
        sa.Column("model", sa.String(128), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("module", sa.String(), nullable=False),
        sa.Column("program_digest", sa.String(64), nullable=False),
        sa.Column("meaning_digest", sa.String(64), nullable=False),
        sa.Column("inputs", sa.JSON(), nullable=False),
        sa.Column("outputs", sa.JSON(), nullable=False),
        sa.Column("source", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.Float(precision=53), nullable=False),
        sa.ForeignKeyConstraint(["model"], ["models.name"]),
        sa.PrimaryKeyConstraint("model", "version"),
    )
    op.create_index("ix_model_versions_program_digest", "model_versions", ["program_digest"])
    op.create_index("one_version_a_program", "model_versions", ["model", "program_digest"], unique=True)
    op.create_table(
        "outbox",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("task", sa.String(32), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("queue", sa.String(128), nullable=False),
        sa.Column("request_id", sa.String(128), nullable=False),
        sa.ForeignKeyConstraint(["task"], ["tasks.id"]),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_outbox_task", "outbox", ["task"])
