"""Running a bundle: devices, executor, thread team and profiler, without a compiler."""

from rlx_runtime.executor.client import Executor
from rlx_runtime.executor.run import Result
from rlx_runtime.host import check_host
from rlx_runtime.model import InProcessModel, TracedRun, load
from rlx_runtime.peak import Peak, measure_peak
from rlx_runtime.profile import KernelSummary, KernelTiming, Profile
from rlx_runtime.team import ThreadTeam, team_size

__all__ = [
    "Executor",
    "InProcessModel",
    "KernelSummary",
    "KernelTiming",
    "Peak",
    "Profile",
    "Result",
    "ThreadTeam",
    "TracedRun",
    "check_host",
    "load",
    "measure_peak",
    "team_size",
]
