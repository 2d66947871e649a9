"""Running a bundle: devices, executor, thread team and profiler, without a compiler."""

from rlx_runtime.devices import DetectedDevice, detect_devices
from rlx_runtime.executor.client import Executor
from rlx_runtime.executor.run import Result
from rlx_runtime.model import InProcessModel, TracedRun, load
from rlx_runtime.profile import KernelSummary, KernelTiming, Profile
from rlx_runtime.team import ThreadTeam, team_size

__all__ = [
    "DetectedDevice",
    "Executor",
    "InProcessModel",
    "KernelSummary",
    "KernelTiming",
    "Profile",
    "Result",
    "ThreadTeam",
    "TracedRun",
    "detect_devices",
    "load",
    "team_size",
]
