"""How Alembic reaches the database: over the connection that `Database.migrate` holds."""

from alembic import context
from sqlmodel import SQLModel

import rlx_compile_api.tables  # noqa: F401  # fills the metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=SQLModel.metadata, render_as_batch=True)
with context.begin_transaction():
    context.run_migrations()
