"""The worker as a process: it stands back for others, consumes, and ends within seconds when it is told to."""

from __future__ import annotations

import os
import tempfile

from rlx_compiler.worker.compiling import Compile
from rlx_compiler.worker.scratch import scratch_folder
from rlx_compiler.worker.settings import WorkerSettings

__all__ = ["run_worker"]


def run_worker(settings: WorkerSettings, compile: Compile) -> None:
    """Consumes until a signal ends the process.

    SIGTERM gives a running attempt two seconds and then leaves it: its lease ends, and another worker begins anew. A
    compilation may last minutes, and whoever stops a machine does not wait for it.
    """
    os.nice(settings.nice)
    # Read when Celery's process pool is imported, so it is set before that, here.
    os.environ["REMAP_SIGTERM"] = "SIGQUIT"
    from rlx_compiler.worker.celery_app import celery_arguments, create_celery

    with scratch_folder(settings.data_folder) as scratch:
        # What the compiler and its tools leave when they are killed is swept with the rest.
        tempfile.tempdir = str(scratch)
        create_celery(settings, compile, scratch).worker_main(celery_arguments(settings))
