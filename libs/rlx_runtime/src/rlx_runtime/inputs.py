"""Checking what a caller hands to a model against its manifest, before any of it reaches compiled code."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlx_base.dtypes import DTYPES, STRING
from rlx_base.errors import RequestError
from rlx_ir.elements import numpy_of
from rlx_wire.manifest import Manifest, TensorSpec

__all__ = ["Array", "Binding", "bind", "concrete_shape", "numpy_dtype", "tensor_bytes"]

Array = NDArray[np.generic]


@dataclass(frozen=True, slots=True)
class Binding:
    """Inputs in manifest order, each of the right dtype and shape, and the value of every symbolic dim."""

    arrays: tuple[Array, ...]
    dims: tuple[int, ...]


def bind(manifest: Manifest, inputs: Mapping[str, Any]) -> Binding:
    """Matches named arrays to the manifest's inputs. Raises E415 with what was expected; never casts or reshapes."""
    names = [spec.name for spec in manifest.inputs]
    # The unknown names first: one that is misspelt is missing too, and the misspelling is what is to be mended.
    unknown = [str(name) for name in inputs if name not in names]
    if unknown:
        raise _wrong(manifest, _unknown(unknown, [name for name in names if name not in inputs]))
    missing = [name for name in names if name not in inputs]
    if missing:
        raise _wrong(manifest, f"input {', '.join(missing)} is missing")
    dims: dict[str, int] = {}
    arrays = []
    for spec in manifest.inputs:
        array = np.asarray(inputs[spec.name])
        if array.dtype.kind == "U" and spec.dtype == STRING.name:  # has room for so many letters only
            array = array.astype(object)
        if array.dtype.newbyteorder("=") != numpy_dtype(spec):
            raise _wrong(manifest, f"input {spec.name} must be {spec.dtype}, not {array.dtype}")
        if not _fits(array.shape, spec, dims):
            found = " × ".join(map(str, array.shape)) or "scalar"
            raise _wrong(manifest, f"input {spec.name} must have shape {_shape(spec, dims)}, not {found}")
        arrays.append(array)
    return Binding(tuple(arrays), tuple(dims[name] for name in manifest.dims))


def concrete_shape(spec: TensorSpec, manifest: Manifest, dims: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of a tensor once the symbolic dims have values."""
    values = dict(zip(manifest.dims, dims, strict=True))
    return tuple(values[size] if isinstance(size, str) else size for size in spec.shape)


def tensor_bytes(spec: TensorSpec, manifest: Manifest, dims: Sequence[int]) -> int:
    """How long a tensor is once the symbolic dims have values."""
    return math.prod(concrete_shape(spec, manifest, tuple(dims))) * numpy_dtype(spec).itemsize


def numpy_dtype(spec: TensorSpec) -> np.dtype[np.generic]:
    """The NumPy dtype of a tensor; one element has a byte or more, also where it needs fewer bits."""
    return numpy_of(DTYPES[spec.dtype])


def _fits(shape: tuple[int, ...], spec: TensorSpec, dims: dict[str, int]) -> bool:
    """Whether a shape is the declared one; a symbolic dim takes the first size that it meets."""
    if len(shape) != len(spec.shape):
        return False
    return all(
        size == (dims.setdefault(declared, size) if isinstance(declared, str) else declared)
        for size, declared in zip(shape, spec.shape, strict=True)
    )


def _shape(spec: TensorSpec, dims: Mapping[str, int] | None = None) -> str:
    known = {name: f"{name}={size}" for name, size in (dims or {}).items()}
    sizes = [known.get(size, size) if isinstance(size, str) else str(size) for size in spec.shape]
    return " × ".join(sizes) or "scalar"


def _unknown(unknown: Sequence[str], missing: Sequence[str]) -> str:
    """Names each input that there is not, with the missing one that is nearest; then what is missing besides."""
    texts, left = [], list(missing)
    for name in unknown:
        near = difflib.get_close_matches(name, left, n=1)
        texts.append(f"there is no input {name!r}" + (f"; did you mean {near[0]!r}?" if near else ";"))
        left = [other for other in left if other not in near]
    if left:
        texts.append(f"input {', '.join(left)} is missing")
    return " ".join(texts).rstrip(";")


def _wrong(manifest: Manifest, what: str) -> RequestError:
    inputs = ", ".join(f"{spec.name}: {spec.dtype} {_shape(spec)}" for spec in manifest.inputs) or "none"
    return RequestError("E415", model=manifest.model, what=what, inputs=inputs)
