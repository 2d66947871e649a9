"""Code for another CPU, emulated instruction by instruction (PyPI `unicorn`): the right answers, some hundred times
slower than the CPU itself. For tests, for `rlx infer`, and for trying out what will run on a board.

The guest is a flat memory: the library, the weights, the workspace, a stack, and the inputs and outputs of a call, each
copied in and out. A team has one member there, and what cancels a run is looked at when the run begins.
"""

from __future__ import annotations

import ctypes
import mmap
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rlx_base.errors import ArtifactError, InternalError
from rlx_runtime.elf import AARCH64, RISCV64, Image, read_image
from rlx_runtime.inputs import tensor_bytes
from rlx_runtime.native import memory_at
from rlx_runtime.program import Cancel, Program, map_weights
from rlx_runtime.runners.native import LIBRARY, TARGETS, check_library
from rlx_runtime.runners.registry import Runner, missing_packages
from rlx_runtime.team import ThreadTeam
from rlx_wire.abi import ABI_VERSION, ALIGNMENT, Call
from rlx_wire.cpu import LEVELS
from rlx_wire.manifest import Manifest, NativeSegment

__all__ = ["RUNNER", "EmulatedProgram"]

_PAGE: Final = mmap.PAGESIZE
_STACK: Final = 1 << 20
# Where things lie in the guest: what a bundle has for its whole life, and what comes and goes with a call.
_FIXED: Final = 0x1_0000_0000
_CALLS: Final = 0x10_0000_0000
# What the CPUs of the emulator lack (it descends from QEMU 5).
_BEYOND: Final = {"riscv64": frozenset({"v"})}


@dataclass(frozen=True, slots=True)
class _Machine:
    """How a function is called on a machine: the registers of its argument, answer, stack and return address."""

    number: int
    returns: bytes
    """The instruction that returns from a function; one at the return address stands for the end of the run."""


_MACHINES: Final = {
    "aarch64": _Machine(AARCH64, bytes.fromhex("c0035fd6")),
    "riscv64": _Machine(RISCV64, bytes.fromhex("67800000")),
}


class EmulatedProgram(Program):
    """A library in an emulator of its machine."""

    def __init__(self, manifest: Manifest, library: bytes, weights: NDArray[np.uint8]) -> None:
        super().__init__(manifest, threads=1)
        machine = _MACHINES[manifest.target]
        image = read_image(library, _FIXED + _PAGE, LIBRARY)
        if image.machine != machine.number:
            raise ArtifactError("E309", name=LIBRARY, why=f"it is for machine {image.machine}, not {manifest.target}")
        self._entries = [_entry(image, s) for s in manifest.launch_plan if isinstance(s, NativeSegment)]
        sizes = [_PAGE, len(image.memory), weights.nbytes, manifest.workspace_bytes, _STACK]
        places = np.cumsum([0, *(_up(size) for size in sizes)])
        self._fixed = _anonymous(int(places[-1]))
        # The first page holds two functions that do nothing: the clock, which a hook answers, and the end of a run.
        self._fixed[:8] = np.frombuffer(machine.returns * 2, np.uint8)
        self._end, self._clock = _FIXED, _FIXED + 4
        for place, data in ((places[1], np.frombuffer(image.memory, np.uint8)), (places[2], weights)):
            self._fixed[place : place + data.nbytes] = data
        self._weights, self._workspace = (_FIXED + int(place) for place in places[2:4])
        self._stack = _FIXED + int(places[-1]) - ALIGNMENT
        self._memory = _anonymous(_PAGE)
        self._emulator = _Emulator(manifest.target, self._clock)
        self._emulator.map(_FIXED, self._fixed)
        self._emulator.map(_CALLS, self._memory)

    def _call(
        self, inputs: Sequence[int], outputs: Sequence[int], dims: Sequence[int], cancel: Cancel | None, trace: int
    ) -> int:
        sizes = [tensor_bytes(spec, self.manifest, dims) for spec in (*self.manifest.inputs, *self.manifest.outputs)]
        addresses = [*inputs, *outputs]
        rows = self.trace_bytes if trace else 0
        words = [len(inputs) * 8, len(outputs) * 8, len(dims) * 8, 8, ctypes.sizeof(Call), rows]
        places = [int(p) for p in np.cumsum([0, *(-(-size // ALIGNMENT) * ALIGNMENT for size in (*sizes, *words))])]
        memory = self._reserve(places[-1])
        for place, size, address in zip(places, sizes, inputs, strict=False):
            memory[place : place + size] = memory_at(address, size)
        guest = [_CALLS + place for place in places]
        at_inputs, at_outputs, at_dims, at_cancel, at_call, at_trace = range(len(sizes), len(sizes) + 6)
        _put(memory, places[at_inputs], guest[: len(inputs)])
        _put(memory, places[at_outputs], guest[len(inputs) : len(sizes)])
        _put(memory, places[at_dims], dims)
        _put(memory, places[at_cancel], [cancel.value if cancel is not None else 0])
        call = Call(
            size=ctypes.sizeof(Call),
            abi_version=ABI_VERSION,
            inputs=guest[at_inputs],
            outputs=guest[at_outputs],
            weights=self._weights,
            workspace=self._workspace,
            dims=guest[at_dims],
            thread_index=0,
            thread_count=1,
            cancel=guest[at_cancel],
            clock=self._clock if trace else None,
            trace=guest[at_trace] if trace else None,
        )
        memory[places[at_call] : places[at_call] + ctypes.sizeof(Call)] = np.frombuffer(bytes(call), np.uint8)
        for entry in self._entries:
            if status := self._emulator.run(entry, guest[at_call], self._stack, self._end):
                return status
        for place, size, address in list(zip(places, sizes, addresses, strict=False))[len(inputs) :]:
            memory_at(address, size)[...] = memory[place : place + size]
        if trace:
            memory_at(trace, rows)[...] = memory[places[at_trace] : places[at_trace] + rows]
        return 0

    def _reserve(self, size: int) -> NDArray[np.uint8]:
        """Memory of the guest for one call; kept, and replaced where it is too small."""
        if size > self._memory.nbytes:
            self._emulator.unmap(_CALLS, self._memory)
            self._memory = _anonymous(_up(size))
            self._emulator.map(_CALLS, self._memory)
        return self._memory

    def _release(self) -> None:
        self._emulator.close()
        self._fixed = self._memory = np.empty(0, np.uint8)


class _Emulator:
    """The few things that are asked of Unicorn."""

    def __init__(self, target: str, clock: int) -> None:
        # Optional, and only half typed.
        unicorn = self._unicorn = import_module("unicorn")
        arm, riscv = import_module("unicorn.arm64_const"), import_module("unicorn.riscv_const")
        if target == "aarch64":
            self._uc: Any = unicorn.Uc(unicorn.UC_ARCH_ARM64, unicorn.UC_MODE_LITTLE_ENDIAN)
            self._uc.ctl_set_cpu_model(arm.UC_CPU_ARM64_MAX)
            # Lets code use the registers of NEON and SVE.
            self._uc.reg_write(arm.UC_ARM64_REG_CPACR_EL1, 0x330000)
            self._argument, self._second = arm.UC_ARM64_REG_X0, arm.UC_ARM64_REG_X1
            self._sp, self._link = arm.UC_ARM64_REG_SP, arm.UC_ARM64_REG_LR
        else:
            self._uc = unicorn.Uc(unicorn.UC_ARCH_RISCV, unicorn.UC_MODE_RISCV64)
            # FS = dirty: lets code use the floating-point registers.
            self._uc.reg_write(riscv.UC_RISCV_REG_MSTATUS, 0x6000)
            self._argument, self._second = riscv.UC_RISCV_REG_A0, riscv.UC_RISCV_REG_A1
            self._sp, self._link = riscv.UC_RISCV_REG_SP, riscv.UC_RISCV_REG_RA
        self._uc.hook_add(unicorn.UC_HOOK_CODE, self._tell_time, begin=clock, end=clock)

    def map(self, address: int, memory: NDArray[np.uint8]) -> None:
        self._uc.mem_map_ptr(address, memory.nbytes, self._unicorn.UC_PROT_ALL, memory.ctypes.data)

    def unmap(self, address: int, memory: NDArray[np.uint8]) -> None:
        self._uc.mem_unmap(address, memory.nbytes)

    def run(self, entry: int, argument: int, stack: int, end: int) -> int:
        """Calls a function of one pointer. Raises E900 for an access or instruction that the machine has not."""
        for register, value in ((self._argument, argument), (self._sp, stack), (self._link, end)):
            self._uc.reg_write(register, value)
        try:
            self._uc.emu_start(entry, end)
        except self._unicorn.UcError as error:
            raise InternalError("E900", what=f"the emulated code failed: {error}") from None
        return int(self._uc.reg_read(self._argument)) & 0xFFFFFFFF

    def close(self) -> None:
        self._uc = None

    def _tell_time(self, uc: Any, address: int, size: int, data: Any) -> None:
        """`clock_gettime`: seconds and nanoseconds to where the second argument points."""
        del address, size, data
        now = time.monotonic_ns()
        uc.mem_write(uc.reg_read(self._second), np.array(divmod(now, 10**9), "<i8").tobytes())


def _entry(image: Image, segment: NativeSegment) -> int:
    if segment.symbol not in image.symbols:
        raise ArtifactError("E309", name=LIBRARY, why=f"it exports no {segment.symbol}")
    return image.symbols[segment.symbol]


def _up(size: int) -> int:
    return -(-size // _PAGE) * _PAGE


def _anonymous(size: int) -> NDArray[np.uint8]:
    """Zeroed pages."""
    return np.frombuffer(mmap.mmap(-1, size), np.uint8)


def _put(memory: NDArray[np.uint8], place: int, words: Sequence[int]) -> None:
    data = np.array(words, "<i8").tobytes()
    memory[place : place + len(data)] = np.frombuffer(data, np.uint8)


def _check(manifest: Manifest, features: frozenset[str] | None) -> None:
    del features
    check_library(manifest)
    beyond = sorted(_BEYOND.get(manifest.target, frozenset()) & frozenset(manifest.cpu_features))
    if beyond:
        able = next(one.name for one in LEVELS.values() if one.machine == manifest.target)
        raise ArtifactError("E306", expected=manifest.cpu, found=f"an emulator without {', '.join(beyond)}", level=able)


def _load(directory: Path, manifest: Manifest, team: ThreadTeam, device: int) -> Program:
    del team, device
    return EmulatedProgram(manifest, (directory / LIBRARY).read_bytes(), map_weights(directory, manifest))


RUNNER: Final = Runner(
    name="emulated",
    targets=frozenset(_MACHINES) - TARGETS,  # what is native here needs no emulator
    device="cpu",
    unusable=lambda: missing_packages("emulator", "unicorn"),
    check=_check,
    load=_load,
    emulated=True,
)
