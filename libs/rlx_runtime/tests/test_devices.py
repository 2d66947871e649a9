"""Devices are reported, never raised: a missing driver is an answer."""

import ctypes
import subprocess
import sys
import types
from pathlib import Path

import pytest

from rlx_runtime import devices
from rlx_runtime.devices import detect


def by_type() -> dict[str, devices.DetectedDevice]:
    return {device.type: device for device in detect()}


def test_the_cpu_is_there_first_and_always() -> None:
    cpu = detect()[0]
    assert (cpu.id, cpu.available) == ("cpu:0", True)
    assert cpu.name
    assert 0 < cpu.memory <= int(Path("/proc/meminfo").read_text().split()[1]) * 1024


def test_a_machine_without_a_driver_gets_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyopencl", None)

    def missing(name: str) -> None:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(devices.ctypes, "CDLL", missing)
    found = by_type()
    assert not found["cuda"].available
    assert found["cuda"].reason == "libcuda.so.1: cannot open shared object file"
    assert not found["opencl"].available
    assert "pyopencl" in found["opencl"].reason


def test_opencl_devices_are_numbered_over_all_platforms(monkeypatch: pytest.MonkeyPatch) -> None:
    def platform(*names: str) -> types.SimpleNamespace:
        listed = [types.SimpleNamespace(name=f" {name} ", global_mem_size=1 << 30) for name in names]
        return types.SimpleNamespace(get_devices=lambda: listed)

    fake = types.SimpleNamespace(get_platforms=lambda: [platform("a"), platform("b", "c")])
    monkeypatch.setitem(sys.modules, "pyopencl", fake)
    found = [device for device in detect() if device.type == "opencl"]
    assert [(device.id, device.name, device.memory) for device in found] == [
        ("opencl:0", "a", 1 << 30),
        ("opencl:1", "b", 1 << 30),
        ("opencl:2", "c", 1 << 30),
    ]


DRIVER = """
#include <string.h>
int cuInit(unsigned flags) { return STATUS; }
int cuGetErrorString(int code, const char **text) { *text = "no CUDA-capable device is detected"; return 0; }
int cuDeviceGetCount(int *count) { *count = 2; return 0; }
int cuDeviceGet(int *device, int index) { *device = index + 40; return 0; }
int cuDeviceGetName(char *name, int size, int device) { strcpy(name, device == 40 ? "GPU A" : "GPU B"); return 0; }
int cuDeviceTotalMem_v2(unsigned long *bytes, int device) { *bytes = 1ul << device; return 0; }
"""


@pytest.mark.parametrize("status", [0, 100])
def test_the_cuda_driver_is_asked_through_its_own_interface(
    status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A driver of our own, in C, with the real one's signatures."""
    (tmp_path / "driver.c").write_text(DRIVER)
    library = tmp_path / "libcuda.so.1"
    subprocess.run(
        ["gcc", "-shared", "-fPIC", f"-DSTATUS={status}", "driver.c", "-o", library], cwd=tmp_path, check=True
    )
    real = ctypes.CDLL
    monkeypatch.setattr(devices.ctypes, "CDLL", lambda name: real(str(library)))
    found = [device for device in detect() if device.type == "cuda"]
    if status:
        assert [device.reason for device in found] == ["cuInit: no CUDA-capable device is detected (100)"]
    else:
        assert [(device.id, device.name, device.memory) for device in found] == [
            ("cuda:0", "GPU A", 1 << 40),
            ("cuda:1", "GPU B", 1 << 41),
        ]
