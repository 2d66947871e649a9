"""Constants that live beside the text, in safetensors files.

The language opens no file: a `Resolver`, given by whoever reads the text, turns a name into bytes, usually a memory
map. The tensors are views of those bytes, so nothing is copied and nothing is read that is not used.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from rlx_base.dtypes import DType
from rlx_base.errors import TextError
from rlx_ir.constants.buffer import Buffer
from rlx_ir.constants.safetensors import SafeTensors, unpacked
from rlx_ir.elements import numpy_of
from rlx_ir.op import nearest

__all__ = ["Files", "Resolver", "Stored", "check_file_name"]

_NAME: Final = re.compile(r"(?!\.)[A-Za-z0-9_.+-]{1,100}(?:/(?!\.)[A-Za-z0-9_.+-]{1,100}){0,7}")


class Resolver(Protocol):
    """Gives the bytes of a file beside the text. The name is checked already. Raises E042 where there is none."""

    def __call__(self, name: str, /) -> Buffer: ...


def check_file_name(name: str) -> str:
    """The name, if it is one inside the model's folder: relative, no part that begins with a dot. Raises E041."""
    if _NAME.fullmatch(name) is None:
        raise TextError("E041", name=name)
    return name


@dataclass(frozen=True)
class Stored:
    """A tensor of a safetensors file, by name; equal names compare equal without reading anything."""

    file: str
    key: str
    shape: tuple[int, ...]
    dtype: DType
    _data: memoryview = field(compare=False, repr=False)

    @cached_property
    def _array(self) -> NDArray[np.generic]:
        array = unpacked(self._data, self.dtype, self.shape)
        # Files of other writers may hold tensors at odd addresses, which compiled code cannot read.
        array = np.require(array, numpy_of(self.dtype), "A")
        array.flags.writeable = False
        return array

    def array(self) -> NDArray[np.generic]:
        """The elements in logical order: a read-only view of the file."""
        return self._array


class Files:
    """The files of one text, each opened and its header read once."""

    def __init__(self, resolver: Resolver | None) -> None:
        self._resolver = resolver
        self._open: dict[str, SafeTensors] = {}

    def tensor(self, file: str, key: str) -> Stored:
        """A tensor of a file. Raises TextError E040 … E044, without a place."""
        held = self._open.get(file)
        if held is None:
            check_file_name(file)
            if self._resolver is None:
                raise TextError("E040", name=file)
            held = self._open[file] = SafeTensors.read(file, self._resolver(file))
        entry = held.entries.get(key)
        if entry is None:
            raise TextError("E044", file=file, key=key, hint=nearest(key, held.entries))
        return Stored(file, key, entry.shape, entry.dtype, held.data[entry.begin : entry.end])
