"""The devices of this machine: what is there, how much memory it has, and why something cannot be used.

Detection never raises and loads nothing that is not installed: a missing driver is an answer. The order of a kind's
devices is the one in which its runner numbers them.
"""

from __future__ import annotations

import ctypes
import os
import platform
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict

from rlx_runtime.cgroup import memory_limit

__all__ = ["DetectedDevice", "detect"]


class DetectedDevice(BaseModel):
    """One device, or (not `available`) a kind of device of which there is none here, with the reason."""

    model_config = ConfigDict(frozen=True)

    type: str
    index: int
    name: str
    memory: int
    available: bool
    reason: str = ""

    @property
    def id(self) -> str:
        """The name that a schedule hint uses: `cpu:0`, `cuda:1`."""
        return f"{self.type}:{self.index}"


def detect(kinds: Iterable[str] | None = None) -> tuple[DetectedDevice, ...]:
    """Every device of this machine of these kinds (all, where None), the CPU first."""
    wanted = None if kinds is None else frozenset(kinds)
    found: list[DetectedDevice] = []
    for kind, ask in _KINDS.items():
        if wanted is None or kind in wanted:
            found += _reported(kind, ask)
    return tuple(found)


def _reported(kind: str, detect: Callable[[], list[DetectedDevice]]) -> list[DetectedDevice]:
    """What was found; whatever goes wrong inside a driver becomes the reason why there is nothing."""
    try:
        found = detect()
        reason = "the driver lists no device"
    except Exception as error:
        found, reason = [], str(error) or type(error).__name__
    return found or [DetectedDevice(type=kind, index=0, name="", memory=0, available=False, reason=reason)]


def _found(kind: str, index: int, name: str, memory: int) -> DetectedDevice:
    return DetectedDevice(type=kind, index=index, name=name, memory=memory, available=True)


def _cpus() -> list[DetectedDevice]:
    return [_cpu()]


def _cpu(root: Path = Path("/")) -> DetectedDevice:
    name = next(
        (
            line.partition(":")[2].strip()
            for line in _lines(root / "proc/cpuinfo")
            if line.startswith(("model name", "uarch", "Model"))
        ),
        platform.machine(),
    )
    return _found("cpu", 0, name, _memory(root))


def _memory(root: Path) -> int:
    """Bytes of memory that this process may use: the machine's, within the limit of its cgroup."""
    sizes = [int(line.split()[1]) * 1024 for line in _lines(root / "proc/meminfo") if line.startswith("MemTotal:")]
    sizes += [limit for limit in [memory_limit(root)] if limit is not None]
    return min(sizes, default=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []


def _cuda() -> list[DetectedDevice]:
    """Asks the driver itself: no toolkit and no CuPy is needed to count GPUs."""
    driver = ctypes.CDLL("libcuda.so.1")

    def ask(function: str, *arguments: object) -> None:
        code = getattr(driver, function)(*arguments)
        if code:
            text = ctypes.c_char_p()
            driver.cuGetErrorString(code, ctypes.byref(text))
            words = (text.value or b"unknown error").decode(errors="replace")
            raise OSError(f"{function}: {words} ({code})")

    ask("cuInit", 0)
    count = ctypes.c_int()
    ask("cuDeviceGetCount", ctypes.byref(count))
    devices = []
    for index in range(count.value):
        handle, memory = ctypes.c_int(), ctypes.c_size_t()
        name = ctypes.create_string_buffer(256)
        ask("cuDeviceGet", ctypes.byref(handle), index)
        ask("cuDeviceGetName", name, len(name), handle)
        ask("cuDeviceTotalMem_v2", ctypes.byref(memory), handle)
        devices.append(_found("cuda", index, name.value.decode(errors="replace"), memory.value))
    return devices


def _opencl() -> list[DetectedDevice]:
    import pyopencl  # an optional dependency, and slow to import

    devices = [device for found in pyopencl.get_platforms() for device in found.get_devices()]
    return [
        _found("opencl", index, device.name.strip(), int(device.global_mem_size))
        for index, device in enumerate(devices)
    ]


def _vulkan() -> list[DetectedDevice]:
    from rlx_runtime.grid.vulkan import described_devices

    return [_found("vulkan", index, name, memory) for index, (name, memory) in enumerate(described_devices())]


def _webgpu() -> list[DetectedDevice]:
    import wgpu

    adapters = wgpu.gpu.enumerate_adapters_sync()
    # It does not tell how much memory there is; a buffer can be no larger than this.
    return [
        _found("webgpu", index, adapter.info["device"], int(adapter.limits["max-buffer-size"]))
        for index, adapter in enumerate(adapters)
    ]


_KINDS: Final[dict[str, Callable[[], list[DetectedDevice]]]] = {
    "cpu": _cpus,
    "cuda": _cuda,
    "opencl": _opencl,
    "vulkan": _vulkan,
    "webgpu": _webgpu,
}
