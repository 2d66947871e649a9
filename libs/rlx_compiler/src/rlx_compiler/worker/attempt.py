"""One attempt, from its claim to its report."""

from __future__ import annotations

import logging
import shutil
import tempfile
import uuid
from dataclasses import dataclass, replace
from pathlib import Path

from rlx_base.errors import ClusterError, RlxError
from rlx_base.faults import reach
from rlx_compiler.options import CompileOptions, CompileResult
from rlx_compiler.worker.api import AttemptOver, Refused, WorkerApi
from rlx_compiler.worker.compiling import Compile
from rlx_compiler.worker.lease import HeldLease
from rlx_compiler.worker.settings import WorkerSettings
from rlx_wire.bundle import stream_bundle
from rlx_wire.jobs import Assignment, CompileMessage, Result
from rlx_wire.problem import Problem

__all__ = ["AttemptRunner"]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AttemptRunner:
    """`run` never raises for what happens to an attempt: it is reported, or it is somebody else's by then."""

    settings: WorkerSettings
    compile: Compile
    compiler_version: str
    scratch: Path

    def run(self, message: CompileMessage) -> None:
        """Does what a message offers, unless another worker does."""
        key = self.settings.api_key.get_secret_value() if self.settings.api_key else None
        api = WorkerApi(self.settings.api_url, key, message, uuid.uuid4().hex)
        try:
            assignment = api.claim(self.settings.name, self.compiler_version)
            log.info("attempt %d of %s for %s begins", message.attempt, message.task_id, assignment.target)
            with HeldLease(api, assignment.lease.seconds) as lease:
                self._report(api, self._work(api, assignment, lease))
            reach("worker.before-ack")
        except (AttemptOver, Refused, ClusterError) as over:
            # Not claimed, or lost, or out of reach: the reconciler offers the task again if it needs to be done.
            log.info("attempt %d of %s is dropped: %s", message.attempt, message.task_id, over)
        finally:
            api.close()

    def _report(self, api: WorkerApi, result: Result) -> None:
        reach("worker.before-report")
        try:
            api.report(result)
        except Refused as refused:
            if not refused.final:
                raise
            # The bundle is not what the task asked for, and would not be the next time.
            log.error("compile-api refused the result: %s", refused)
            api.report(Result(token=api.token, outcome="failed", problem=refused.problem))

    def _work(self, api: WorkerApi, assignment: Assignment, lease: HeldLease) -> Result:
        """Compiles and uploads. Raises AttemptOver as soon as the lease is gone."""
        folder = Path(tempfile.mkdtemp(prefix="attempt-", dir=self.scratch))
        try:
            compiled = self._compile(api, assignment, lease, folder)
            archive = folder / "bundle.zip"
            with archive.open("wb") as sink:
                stream_bundle(compiled.directory, sink)
            reach("worker.before-upload")
            api.upload(archive, compiled.digest)
            return Result(
                token=api.token,
                outcome="succeeded",
                artifact=compiled.digest,
                seconds_by_phase=dict(compiled.seconds_by_phase),
            )
        except (AttemptOver, ClusterError):
            raise
        except Exception as error:
            if lease.over.is_set():
                raise AttemptOver("the lease is gone") from error
            return _failure(api.token, error, folder / "source")
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _compile(self, api: WorkerApi, assignment: Assignment, lease: HeldLease, folder: Path) -> CompileResult:
        source = folder / "source"
        source.mkdir()
        lease.progress("fetch", 0.0)
        for file in assignment.source:
            api.source(file, source / file.name)
        options = assignment.options
        return self.compile(
            _main(source),
            CompileOptions(
                target=assignment.target,
                opt_level=options.opt_level,
                cpu=assignment.cpu,
                strict=options.strict,
                fallback_to_ddr=options.fallback_to_ddr,
                dims=options.dims,
            ),
            folder / "bundle",
            limits=self.settings.limits,
            progress=lease.progress,
            over=lease.over,
        )


def _main(source: Path) -> Path:
    """The program among the files; what was uploaded has exactly one."""
    (main,) = (path for path in source.iterdir() if path.suffix in {".rlx", ".rlxz"})
    return main


def _failure(token: str, error: Exception, source: Path) -> Result:
    """`failed` where the program is at fault, and would be again; `abandoned` where this worker is."""
    if isinstance(error, RlxError):
        return Result(token=token, outcome="failed", problem=_problem(error, source))
    if isinstance(error, Refused) and error.final:
        log.error("compile-api refused the attempt's files: %s", error)
        return Result(token=token, outcome="failed", problem=error.problem)
    log.exception("the attempt failed on this worker", exc_info=error)
    why = f"{type(error).__name__}: {error}"
    return Result(token=token, outcome="abandoned", problem=Problem.of(ClusterError("E532", why=why)))


def _problem(error: RlxError, source: Path) -> Problem:
    """An error by the file name that its user gave, without the folders of this worker, and with its line."""
    if error.at is None:
        return Problem.of(error)
    name = Path(error.at.file).name
    error.at = replace(error.at, file=name)
    text = source / name
    return Problem.of(error, source=text.read_text(errors="replace") if text.is_file() else None)
