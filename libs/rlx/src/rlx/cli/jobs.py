"""`rlx jobs`: compile jobs of a server, one of them in full, or its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rlx.cli.remote import DEFAULT_ENDPOINT, ApiKey, Endpoint, connect
from rlx.cli.terminal import NO, Json, columns, fail, progress, show

if TYPE_CHECKING:
    from rlx_wire.api import Job

__all__ = ["jobs", "register"]


def register(app: typer.Typer) -> None:
    app.command()(jobs)


def jobs(
    id: Annotated[str | None, typer.Argument(help="Show this job.")] = None,
    state: Annotated[str | None, typer.Option("--state", help="Only jobs in this state.")] = None,
    model: Annotated[str | None, typer.Option("--model", "-m", help="Only jobs of this model.")] = None,
    cancel: Annotated[bool, typer.Option("--cancel", help="End the job.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for its end; exit 1 where it does not succeed.")] = False,
    endpoint: Endpoint = DEFAULT_ENDPOINT,
    api_key: ApiKey = None,
    as_json: Json = False,
) -> None:
    """List compile jobs, show one, wait for it, or cancel it.

    Example: rlx jobs --state failed
    """
    if id is None and (cancel or wait):
        fail("no job is named", "rlx jobs ID --cancel; `rlx jobs` lists them")
    with connect(endpoint, api_key) as client:
        if id is None:
            found = client.jobs(state=state, model=model).items
            rows = [
                (job.id, job.state, job.model, job.version, ", ".join(task.target for task in job.tasks))
                for job in found
            ]
            answer = {"jobs": [job.model_dump(mode="json") for job in found]}
            show(answer, as_json, columns(("JOB", "STATE", "MODEL", "VERSION", "TARGETS"), rows))
            return
        job = client.cancel(id) if cancel else client.job(id)
        if wait:
            job = client.wait(job, on_event=lambda event: progress(str(event.kind), 0.0) if event.progress else None)
        show(job.model_dump(mode="json"), as_json, _text(job))
        if wait and job.state != "succeeded":
            raise typer.Exit(NO)


def _text(job: Job) -> str:
    lines = [f"{job.id}: {job.state}  {job.model} version {job.version}"]
    for task in job.tasks:
        done = f"  {task.artifact[:12]}" if task.artifact else ""
        lines.append(f"  {task.target:<20} {task.cpu:<12} {task.state}  attempt {task.attempt}{done}")
        if task.problem is not None:
            lines.append(f"    {task.problem.detail}")
    return "\n".join(lines)
