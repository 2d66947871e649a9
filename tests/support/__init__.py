"""Real servers for tests: a private PostgreSQL, a private Redis, free ports."""
