"""From a `POST /v1/compile` to a job: targets and CPUs are named, equal work is found again, new work is queued."""

from __future__ import annotations

from dataclasses import dataclass

from sqlmodel import Session, col, select

from rlx_compile_api.identifiers import job_key, new_id, task_key
from rlx_compile_api.levels import CpuChoice
from rlx_compile_api.orchestration import Orchestration
from rlx_compile_api.repository.jobs import get_job
from rlx_compile_api.repository.models import get_version
from rlx_compile_api.tables import JobRow, TaskRow
from rlx_compile_api.targets import split_target
from rlx_wire.api import CompileRequest, Job, ModelVersion
from rlx_wire.targets import TARGETS

__all__ = ["Submission"]


@dataclass(frozen=True, slots=True)
class _Wanted:
    """One target of a request, with its CPU by name."""

    key: str
    target: str
    cpu: str


class Submission:
    """Gives the job that a request asks for, which may be there already.

    A unique index on the key of live jobs, and one on that of live tasks, decide between requests that come at the
    same time: the transaction that loses is run again, and finds the winner's rows.
    """

    def __init__(self, orchestration: Orchestration, choose_cpu: CpuChoice, compiler_version: str) -> None:
        self._orchestration = orchestration
        self._choose_cpu = choose_cpu
        self._compiler_version = compiler_version

    def __call__(self, request: CompileRequest, request_id: str) -> Job:
        """Raises E430 for an unknown model, E433 for a target or CPU that nothing compiles for."""
        named = _named(request.targets, self._choose_cpu)

        def work(session: Session) -> Job:
            version = get_version(session, request.model, request.version)
            wanted = self._wanted(version, request, named)
            key = job_key(version.model, version.version, (one.key for one in wanted))
            live = select(JobRow.id).where(JobRow.key == key, col(JobRow.state).not_in(("failed", "cancelled")))
            known = session.exec(live).first()
            if known is not None:
                return get_job(session, known)
            return get_job(session, self._add(session, version, request, request_id, key, wanted))

        job = self._orchestration.database.write(work)
        self._orchestration.changed()
        return job

    def _wanted(self, version: ModelVersion, request: CompileRequest, named: list[tuple[str, str]]) -> list[_Wanted]:
        return [
            _Wanted(
                task_key(version.program_digest, target, cpu, request.options, self._compiler_version),
                target,
                cpu,
            )
            for target, cpu in named
        ]

    def _add(
        self,
        session: Session,
        version: ModelVersion,
        request: CompileRequest,
        request_id: str,
        key: str,
        wanted: list[_Wanted],
    ) -> str:
        now = self._orchestration.clock()
        # Locked in the order of their ids, as everywhere; a task that ends meanwhile is not live any more.
        query = select(TaskRow).where(
            col(TaskRow.key).in_([one.key for one in wanted]),
            col(TaskRow.state).not_in(("failed", "cancelled")),
        )
        shared = {row.key: row for row in session.exec(query.order_by(col(TaskRow.id)).with_for_update())}
        tasks = []
        for one in wanted:
            task = shared.get(one.key)
            if task is None:
                task = TaskRow(
                    id=new_id("task", now),
                    key=one.key,
                    program_digest=version.program_digest,
                    target=one.target,
                    cpu=one.cpu,
                    options=request.options.model_dump(mode="json"),
                    compiler_version=self._compiler_version,
                    source=[file.model_dump(mode="json") for file in version.source],
                    request_id=request_id,
                    state="queued",
                    created_at=now,
                )
                self._orchestration.submit_task(session, task)
            tasks.append(task)
        job = JobRow(
            id=new_id("job", now),
            key=key,
            state="queued",
            model=version.model,
            version=version.version,
            program_digest=version.program_digest,
            options=request.options.model_dump(mode="json"),
            request_id=request_id,
            created_at=now,
        )
        self._orchestration.submit_job(session, job, tasks)
        return job.id


def _named(targets: tuple[str, ...], choose_cpu: CpuChoice) -> list[tuple[str, str]]:
    """Each target with its CPU, once."""
    chosen: str | None = None
    named: dict[tuple[str, str], None] = {}
    for text in targets:
        target, device = split_target(text)
        if not device and (device := TARGETS[target].default or "") == "":
            device = chosen = chosen or choose_cpu()
        named[target, device] = None
    return list(named)
