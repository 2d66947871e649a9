"""The history of the tables, run by Alembic when the service starts."""
