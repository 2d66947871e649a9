"""`rlx-compile-worker --api-url URL`: the compile worker as a process."""

from __future__ import annotations

import sys

from rlx_base.errors import RlxError
from rlx_compiler import compile_source
from rlx_compiler.worker import WorkerSettings, run_worker
from rlx_wire.service.logs import configure_logs

__all__ = ["main"]


def main() -> None:
    """Ends with status 2 for settings that do not fit."""
    try:
        settings = WorkerSettings.load("rlx-compile-worker")
    except RlxError as error:
        print(error.render(), file=sys.stderr)
        raise SystemExit(2) from None
    configure_logs(settings.log)
    run_worker(settings, compile_source)


if __name__ == "__main__":
    main()
