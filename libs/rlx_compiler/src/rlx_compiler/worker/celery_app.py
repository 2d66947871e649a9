"""The Celery application of a worker, with the settings that keep a task from being lost or run for ever."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

from celery import Celery

from rlx_compiler.worker.attempt import AttemptRunner
from rlx_compiler.worker.compiling import Compile
from rlx_compiler.worker.settings import WorkerSettings
from rlx_wire.jobs import COMPILE_TASK, CompileMessage

__all__ = ["celery_arguments", "create_celery"]


def create_celery(settings: WorkerSettings, compile: Compile, scratch: Path) -> Celery:
    """An application with the one task `rlx.compile`, done with `compile` in folders below `scratch`."""
    app = Celery("rlx", broker=settings.redis_url, set_as_current=False)
    # Redis hands a message out again when it was not acknowledged for this long. Leases find a dead worker in seconds;
    # this must only never be shorter than an attempt may last.
    visible_again = 2 * settings.hard_seconds
    app.conf.update(
        task_serializer="json",
        accept_content=["json"],
        task_ignore_result=True,  # attempts are reported to compile-api; there is no result backend
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        task_time_limit=settings.hard_seconds,
        worker_prefetch_multiplier=1,
        worker_enable_remote_control=False,
        worker_hijack_root_logger=False,
        worker_cancel_long_running_tasks_on_connection_loss=False,
        worker_soft_shutdown_timeout=2.0,
        visibility_timeout=visible_again,
        result_backend_transport_options={"visibility_timeout": visible_again},
        broker_transport_options={
            "visibility_timeout": visible_again,
            "socket_connect_timeout": 2.0,
            "health_check_interval": 5,
        },
        broker_connection_retry=True,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
    )
    runner = AttemptRunner(settings, compile, version("rlx-compiler"), scratch)

    @app.task(name=COMPILE_TASK)  # type: ignore[untyped-decorator]
    def compile_one(**message: Any) -> None:
        runner.run(CompileMessage.model_validate(message))

    return app


def celery_arguments(settings: WorkerSettings) -> list[str]:
    """The arguments of `Celery.worker_main`: the queues of the targets whose tools are here."""
    return [
        "worker",
        "--loglevel=INFO",
        "--without-gossip",
        "--without-mingle",
        f"--concurrency={settings.concurrency}",
        f"--hostname={settings.name}",
        f"--queues={','.join(f'compile.{target}' for target in settings.targets)}",
    ]
