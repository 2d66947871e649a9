"""The few things of C that a runtime needs: loading code, addresses of libc functions, aligned memory."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rlx_base.errors import ArtifactError
from rlx_wire.abi import ALIGNMENT

__all__ = ["CLOCK", "PARK", "Library", "aligned_empty", "aligned_zeros", "is_aligned", "memory_at"]

_LIBC: Final = ctypes.CDLL(None, use_errno=True)
_LIBC.dlopen.restype = _LIBC.dlsym.restype = ctypes.c_void_p
_LIBC.dlopen.argtypes = [ctypes.c_char_p, ctypes.c_int]
_LIBC.dlsym.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
_LIBC.dlclose.argtypes = [ctypes.c_void_p]
_LIBC.dlerror.restype = ctypes.c_char_p


def _address(name: str) -> int:
    return ctypes.cast(getattr(_LIBC, name), ctypes.c_void_p).value or 0


# Addresses of C functions, never of Python callbacks: those would need the interpreter's lock inside a kernel.
PARK: Final = _address("sched_yield")
CLOCK: Final = _address("clock_gettime")


class Library:
    """A shared object in this process. Unlike a `ctypes.CDLL` it can be taken out again, so a reload costs nothing."""

    def __init__(self, path: Path) -> None:
        """Raises E309 with the linker's own words."""
        self._name = path.name
        handle = _LIBC.dlopen(os.fsencode(path.absolute()), os.RTLD_NOW | os.RTLD_LOCAL)
        if not handle:
            raise ArtifactError("E309", name=self._name, why="the linker refused it", caused_by=_dlerror())
        self._handle: int | None = handle

    def symbol(self, name: str) -> int:
        """The address of an exported function. Raises E309 where there is none."""
        address = _LIBC.dlsym(self._handle, name.encode())
        if not address:
            raise ArtifactError("E309", name=self._name, why=f"it exports no {name}", caused_by=_dlerror())
        return int(address)

    def close(self) -> None:
        """Takes the code out of the process. No call may be running in it, and none may come."""
        handle, self._handle = self._handle, None
        if handle is not None:
            _LIBC.dlclose(handle)


def _dlerror() -> str:
    return (_LIBC.dlerror() or b"no reason given").decode(errors="replace")


def aligned_empty(shape: Sequence[int], dtype: np.dtype[np.generic]) -> NDArray[np.generic]:
    """A new row-major array whose first element lies on a boundary of `ALIGNMENT` bytes; contents undefined."""
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    return _aligned(np.empty(size + ALIGNMENT, np.uint8), size).view(dtype).reshape(tuple(shape))


def aligned_zeros(size: int) -> NDArray[np.uint8]:
    """`size` zero bytes on a boundary of `ALIGNMENT`; pages are taken as they are first written."""
    return _aligned(np.zeros(size + ALIGNMENT, np.uint8), size)


def _aligned(memory: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start : start + size]


def memory_at(address: int, size: int) -> NDArray[np.uint8]:
    """The bytes at an address of this process, in place; who gave the address keeps them alive."""
    if not size:
        return np.empty(0, np.uint8)
    return np.frombuffer(memoryview((ctypes.c_uint8 * size).from_address(address)), np.uint8)


def is_aligned(array: NDArray[np.generic]) -> bool:
    """Whether compiled code can read the array as it lies: row-major, native byte order, on an aligned boundary."""
    return array.flags.c_contiguous and array.dtype.isnative and (array.size == 0 or not array.ctypes.data % ALIGNMENT)
