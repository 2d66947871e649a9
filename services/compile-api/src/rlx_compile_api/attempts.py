"""What workers do with their attempts: claim, beat, upload, report."""

from __future__ import annotations

from pathlib import Path

from rlx_base.errors import RequestError
from rlx_cluster import jobs
from rlx_compile_api.blobs import BlobStore
from rlx_compile_api.orchestration import Orchestration, Success, Verdict
from rlx_compile_api.repository.jobs import get_task_row
from rlx_compile_api.tables import ArtifactRow, TaskRow
from rlx_wire.api import JobOptions, SourceFile
from rlx_wire.jobs import Assignment, Claim, Heartbeat, Lease, Result
from rlx_wire.problem import Problem

__all__ = ["Attempts"]


class Attempts:
    """Every call but the first raises E434 once the attempt is over; each may be repeated."""

    def __init__(self, orchestration: Orchestration, blobs: BlobStore) -> None:
        self._orchestration = orchestration
        self._blobs = blobs
        self._lease = Lease(seconds=orchestration.policy.lease)

    def claim(self, task: str, attempt: int, claim: Claim) -> Assignment:
        """Gives the attempt to the first that asks. Raises E434 for all others, E430 for an unknown task."""
        wanted = self._row(task).compiler_version
        if wanted != claim.compiler_version:
            # The message is dropped, and offered again until a worker of the right version comes by.
            what = f"the task is for compiler {wanted}, the worker has {claim.compiler_version}"
            raise RequestError("E433", what=what)
        row = self._orchestration.change(task, jobs.Claim(attempt, claim.token), worker=claim.worker)
        return Assignment(
            task_id=row.id,
            attempt=row.attempt,
            lease=self._lease,
            program_digest=row.program_digest,
            target=row.target,
            cpu=row.cpu,
            options=JobOptions.model_validate(row.options),
            source=tuple(SourceFile.model_validate(file) for file in row.source),
        )

    def beat(self, task: str, attempt: int, heartbeat: Heartbeat) -> Lease:
        """Renews the lease."""
        beat = jobs.Heartbeat(attempt, heartbeat.token)
        self._orchestration.note_progress(task, beat, heartbeat.progress)
        return self._lease

    def check(self, task: str, attempt: int, token: str) -> None:
        """Refuses an upload before it is read."""
        self._orchestration.note_progress(task, jobs.Heartbeat(attempt, token), None)

    def keep(self, archive: Path, digest: str) -> None:
        """Stores an uploaded bundle, whole; it stays invisible until its attempt is reported. Raises E301–E307."""
        self._blobs.put_bundle(archive, digest)

    def report(self, task: str, attempt: int, result: Result) -> None:
        """Ends the attempt. Raises E433 where the bundle is missing or is not what the task asked for."""
        report = jobs.Report(attempt, result.token, result.outcome, self._verdict(task, result))
        self._orchestration.change(task, report, seconds=result.seconds_by_phase)

    def _verdict(self, task: str, result: Result) -> Verdict:
        if result.artifact is None:
            assert isinstance(result.problem, Problem)
            return result.problem
        if not self._blobs.has_bundle(result.artifact):
            raise RequestError("E433", what=f"artifact {result.artifact} was not uploaded")
        manifest = self._blobs.manifest(result.artifact)
        row = self._row(task)
        for name in ("program_digest", "target", "cpu", "compiler_version"):
            wanted, found = getattr(row, name), getattr(manifest, name)
            if wanted != found:
                raise RequestError("E433", what=f"the artifact has {name} {found}, the task asked for {wanted}")
        return Success(
            ArtifactRow(
                digest=result.artifact,
                program_digest=manifest.program_digest,
                target=manifest.target,
                cpu=manifest.cpu,
                compiler_version=manifest.compiler_version,
                bytes=self._blobs.archive(result.artifact).stat().st_size,
                created_at=self._orchestration.clock(),
            )
        )

    def _row(self, task: str) -> TaskRow:
        return self._orchestration.database.read(lambda session: get_task_row(session, task))
