"""Rows in, schemas out: one module a subject, functions of a session. None of them changes a task's or job's state."""
