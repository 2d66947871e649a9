"""Sending a model to a server, with the weights that its text names, and compiling it there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rlx.cli.terminal import FAILED, fail, progress
from rlx_client import RLXClient
from rlx_wire.api import ModelVersion

__all__ = ["compile_remotely", "upload_model"]


def upload_model(client: RLXClient, path: Path, name: str | None = None) -> ModelVersion:
    """A new version from a .rlx file, or .rlxz; under the module's name where none is given."""
    from rlx_compiler.source import load_module
    from rlx_ir.constants import Stored

    module = load_module(path)
    named = (constant.data for part in module.modules() for constant in part.constants)
    weights = {path.parent / data.file for data in named if isinstance(data, Stored)}
    return client.upload(name or module.name, path, *(sorted(weights) if path.suffix == ".rlx" else ()))


def compile_remotely(
    client: RLXClient, path: Path, targets: list[str], output: Path, **options: Any
) -> list[dict[str, Any]]:
    """Uploads, compiles there, and fetches each target's bundle into a folder of `output`."""
    version = upload_model(client, path)
    job = client.compile(version.model, targets, version=version.version, **options)

    def hear(event: Any) -> None:
        if event.progress is not None:
            progress(f"{event.target}: {event.progress.phase}", event.progress.fraction)

    done = client.wait(job, on_event=hear)
    answers: list[dict[str, Any]] = []
    for task in done.tasks:
        if task.artifact is None:
            problem = task.problem
            message = f"{task.target} is {task.state}" if problem is None else f"{task.target}: {problem.detail}"
            fail(message, f"rlx jobs {done.id} shows the whole job", code=1 if done.state == "failed" else FAILED)
        folder = output / task.target.replace(":", "-")
        client.download(task.artifact, folder)
        answers.append({"target": task.target, "digest": task.artifact, "directory": str(folder), "job": done.id})
    return answers
