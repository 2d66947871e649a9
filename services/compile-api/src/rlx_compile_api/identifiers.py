"""Names that the service gives: sortable ids, and the keys by which equal work is recognised."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable

from rlx_wire.api import JobOptions
from rlx_wire.manifest import canonical_json

__all__ = ["job_key", "new_id", "task_key"]


def new_id(kind: str, now: float) -> str:
    """`kind`, then milliseconds, then chance: ids sort by the time they were made, so a list can page by them."""
    return f"{kind}-{int(now * 1000):012x}{secrets.token_hex(6)}"


def task_key(program_digest: str, target: str, cpu: str, options: JobOptions, compiler_version: str) -> str:
    """Equal keys, equal code: all that an artifact depends on."""
    parts = [program_digest, target, cpu, options.model_dump(mode="json"), compiler_version]
    return hashlib.sha256(canonical_json(parts)).hexdigest()


def job_key(model: str, version: int, task_keys: Iterable[str]) -> str:
    """Of a job: the version that was asked for and its set of tasks, in any order."""
    return hashlib.sha256(canonical_json([model, version, sorted(task_keys)])).hexdigest()
