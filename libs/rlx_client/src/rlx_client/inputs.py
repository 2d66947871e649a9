"""What a program hands to a model: arrays as they are, numbers and lists of Python as RLX's usual types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rlx_wire.tensors import Array, Tensor

__all__ = ["as_array", "as_tensors"]


def as_array(value: Any) -> Array:
    """An array keeps its dtype. Python's own numbers have no precision: floats become float32, integers int64."""
    array = np.asarray(value)
    typed = isinstance(value, np.ndarray | np.generic) or hasattr(value, "__array__")
    if not typed and array.dtype == np.float64:
        return array.astype(np.float32)
    return array


def as_tensors(inputs: Mapping[str, Any]) -> dict[str, Tensor]:
    """The inputs of a request. Raises TypeError for what is no tensor."""
    tensors = {}
    for name, value in inputs.items():
        array = as_array(value)
        if array.dtype.kind not in "biuf":
            raise TypeError(f"input {name!r} is not a tensor of numbers but of {array.dtype}")
        tensors[name] = Tensor.encode(array)
    return tensors
