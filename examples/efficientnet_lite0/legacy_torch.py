"""Reads a checkpoint in torch's legacy format, the one before zip files, without torch.

Such a file is five pickles one after the other (a magic number, the protocol, facts about the system that
wrote it, the state dict, the storage keys in file order) and then, for each key, a count of elements and that
many raw little-endian elements. A pickle can name any function of any module, to be called on load, so this
reader knows four names and refuses the rest; what it builds are NumPy arrays, by the strides of the file.
"""

import pickle
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, ClassVar

import numpy as np

MAGIC = 0x1950A86A20F9469CFC6C
PROTOCOL = 1001


@dataclass(frozen=True)
class View:
    """A tensor as the pickle describes it: a window on a storage that comes later in the file."""

    storage: str
    dtype: np.dtype
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def of(self, storage: np.ndarray) -> np.ndarray:
        """The window, row-major: a checkpoint may hold transposed tensors."""
        # as_strided trusts its caller, and this file is not ours: no element may lie outside the storage.
        last = self.offset + sum((n - 1) * step for n, step in zip(self.shape, self.strides, strict=True))
        if min((self.offset, *self.strides, *self.shape)) < 0 or last >= storage.size:
            raise ValueError(f"a tensor reaches outside its storage: {self}, {storage.size} elements")
        strides = [step * storage.itemsize for step in self.strides]
        window = np.lib.stride_tricks.as_strided(storage[self.offset :], self.shape, strides)
        return np.ascontiguousarray(window).reshape(self.shape)


def _rebuild_tensor(
    storage: tuple[str, np.dtype],
    offset: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    requires_grad: bool,
    hooks: object,
) -> View:
    key, dtype = storage
    return View(key, dtype, offset, shape, strides)


class _StateDictUnpickler(pickle.Unpickler):
    """Resolves four names and torch's storages; every other name ends the reading."""

    known: ClassVar = {
        ("collections", "OrderedDict"): OrderedDict,
        ("torch._utils", "_rebuild_tensor_v2"): _rebuild_tensor,
        ("torch", "FloatStorage"): np.dtype("<f4"),
        ("torch", "LongStorage"): np.dtype("<i8"),
    }

    def find_class(self, module: str, name: str) -> object:
        try:
            return self.known[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"the checkpoint names {module}.{name}, which is no tensor") from None

    def persistent_load(self, identity: tuple[object, ...]) -> tuple[str, np.dtype]:
        kind, dtype, key, _device, _count, view = identity
        if kind != "storage" or view is not None:
            raise pickle.UnpicklingError(f"the checkpoint refers to {identity!r}, which is no plain storage")
        return str(key), dtype


def _read_exactly(file: BinaryIO, size: int) -> bytes:
    data = file.read(size)
    if len(data) != size:
        raise ValueError(f"the checkpoint ends early: {size} bytes expected, {len(data)} found")
    return data


def read_state_dict(path: Path) -> dict[str, np.ndarray]:
    """The tensors of the checkpoint by name, in its own order."""
    with path.open("rb") as file:
        if _StateDictUnpickler(file).load() != MAGIC or _StateDictUnpickler(file).load() != PROTOCOL:
            raise ValueError(f"{path} is not a checkpoint in torch's legacy format")
        system = _StateDictUnpickler(file).load()
        if system["little_endian"] is not True:
            raise ValueError(f"{path} was written on a big-endian machine")
        views: Mapping[str, View] = _StateDictUnpickler(file).load()
        dtypes = {view.storage: view.dtype for view in views.values()}
        storages = {}
        for key in _StateDictUnpickler(file).load():
            dtype = dtypes[key]
            count = int.from_bytes(_read_exactly(file, 8), "little")
            storages[key] = np.frombuffer(_read_exactly(file, count * dtype.itemsize), dtype)
    return {name: view.of(storages[view.storage]) for name, view in views.items()}
