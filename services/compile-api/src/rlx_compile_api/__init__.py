"""Uploads, models, deployments, compile jobs, artifacts and profiles: the owner of the database."""
