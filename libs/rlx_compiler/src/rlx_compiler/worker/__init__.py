"""The compile worker: takes messages from Celery, claims attempts over HTTP, compiles in a child process, reports.

A message is only a hint. What counts is the attempt, which this worker holds by a lease that it renews about once a
second; whoever loses the lease, or is told that the attempt is over, stops its child and forgets the message. So this
process may be killed at any point: another one starts the next attempt, and nothing half done is ever seen.

Needs the extra `rlx-compiler[worker]`.
"""

from rlx_compiler.worker.compiling import Compile
from rlx_compiler.worker.process import run_worker
from rlx_compiler.worker.settings import WorkerSettings

__all__ = ["Compile", "WorkerSettings", "run_worker"]
