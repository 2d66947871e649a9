"""The manifest of a bundle: what was compiled, for which CPU, how it is called, and the digest of every file.

A bundle is named by the SHA-256 of its manifest's bytes, so the bytes are canonical: sorted keys, no spaces,
UTF-8, one newline at the end. Nothing in it may tell when, where or by whom the bundle was made: the same
source gives the same digest.
"""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from rlx_base.dtypes import DTYPES
from rlx_base.errors import ArtifactError
from rlx_wire.abi import ABI_VERSION, ENTRY

__all__ = [
    "FORMAT_VERSION",
    "MANIFEST",
    "DeviceArgument",
    "DeviceLaunch",
    "DeviceSegment",
    "FileEntry",
    "HostOpSegment",
    "HostValue",
    "KernelSpec",
    "Manifest",
    "NativeSegment",
    "TensorSpec",
    "canonical_json",
]

FORMAT_VERSION: Final = 1
MANIFEST: Final = "manifest.json"
# A manifest lists tensors and kernels, not data: one larger than this is not one of ours.
MAX_MANIFEST_BYTES: Final = 16 << 20

Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Name = Annotated[str, StringConstraints(min_length=1, max_length=255)]
# A plain name that means the same on every file system; never a path, never hidden.
FileName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$")]
Count = Annotated[int, Field(ge=0, le=2**63 - 1)]


def canonical_json(value: Any) -> bytes:
    """The one way to write a JSON value: equal values give equal bytes."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode() + b"\n"


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class TensorSpec(_Frozen):
    """An input or output, in logical row-major order. A shape holds sizes and names of symbolic dims."""

    name: Name
    dtype: str
    shape: tuple[Count | Name, ...]

    @model_validator(mode="after")
    def _known_dtype(self) -> Self:
        if self.dtype not in DTYPES:
            raise ValueError(f"unknown dtype {self.dtype!r}")
        return self


class KernelSpec(_Frozen):
    """One kernel of the plan: the ops that were fused into it, and the work it does."""

    name: Name
    ops: tuple[Name, ...]
    flops: Count
    bytes: Count


class NativeSegment(_Frozen):
    """Kernels `first … last` (`kernels = (first, last + 1)`) run by one native call."""

    kind: Literal["native"] = "native"
    symbol: Name = ENTRY
    kernels: tuple[Count, Count]


class DeviceArgument(_Frozen):
    """A buffer of a launch: `position` is a number of an input or output, else an offset in bytes into the weights or
    the workspace. It holds `elements` of `dtype`; the kernel may write it only where `written`."""

    region: Literal["input", "output", "weights", "workspace", "state"]
    position: Count
    dtype: str
    elements: Count
    written: bool


class DeviceLaunch(_Frozen):
    """One kernel of a GPU: the function `symbol` run by `blocks` blocks of `threads` threads, each block with so many
    bytes of shared memory, on these buffers in order."""

    symbol: Name
    blocks: Annotated[int, Field(ge=1, le=2**31 - 1)]
    threads: Annotated[int, Field(ge=1, le=1 << 16)]
    shared_bytes: Count
    arguments: tuple[DeviceArgument, ...]


class DeviceSegment(_Frozen):
    """Kernels `first … last` launched one after the other on a device: one launch for each."""

    kind: Literal["device"] = "device"
    kernels: tuple[Count, Count]
    launches: tuple[DeviceLaunch, ...]

    @model_validator(mode="after")
    def _one_for_each(self) -> Self:
        if len(self.launches) != self.kernels[1] - self.kernels[0]:
            raise ValueError(f"{len(self.launches)} launches for kernels {self.kernels[0]}…{self.kernels[1]}")
        return self


class HostValue(_Frozen):
    """What a host op reads or writes: tensor `at` of the inputs or outputs, bytes from `at` on in the weights or the
    workspace, or slot `at` of the texts, which have no address."""

    region: Literal["input", "output", "weights", "workspace", "texts"]
    at: Count
    dtype: str
    shape: tuple[Count, ...]

    @model_validator(mode="after")
    def _known_dtype(self) -> Self:
        if self.dtype not in DTYPES:
            raise ValueError(f"unknown dtype {self.dtype!r}")
        return self


class HostOpSegment(_Frozen):
    """An op that the runtime computes between two native calls, by its name and attributes; `index` counts them."""

    kind: Literal["host_op"] = "host_op"
    op: Name
    index: Count
    attributes: dict[str, Any] = {}
    operands: tuple[HostValue | None, ...] = ()
    results: tuple[HostValue, ...] = ()


Segment = Annotated[NativeSegment | DeviceSegment | HostOpSegment, Field(discriminator="kind")]


class FileEntry(_Frozen):
    """What a file of the bundle must be."""

    sha256: Digest
    bytes: Count


class _Versions(BaseModel):
    """The two numbers that decide whether the rest can be understood at all."""

    format_version: int
    abi_version: int


class Manifest(_Frozen):
    """All that a runtime must know of a bundle before it maps the code."""

    format_version: Literal[1] = 1
    abi_version: Literal[1] = 1
    compiler_version: Name
    target: Name
    cpu: Name
    cpu_features: tuple[Name, ...]
    opt_level: Annotated[int, Field(ge=0, le=3)]
    program_digest: Digest
    meaning_digest: Digest
    model: Name
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    dims: tuple[Name, ...] = ()
    workspace_bytes: Count
    weights_bytes: Count
    kernels: tuple[KernelSpec, ...]
    launch_plan: tuple[Segment, ...]
    files: dict[FileName, FileEntry] = {}

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if list(self.cpu_features) != sorted(set(self.cpu_features)):
            raise ValueError("cpu_features must be sorted and without repeats")
        for what, names in (
            ("inputs", [tensor.name for tensor in self.inputs]),
            ("outputs", [tensor.name for tensor in self.outputs]),
            ("dims", list(self.dims)),
        ):
            if len(set(names)) != len(names):
                raise ValueError(f"{what} repeat a name")
        used = {dim for tensor in self.inputs for dim in tensor.shape if isinstance(dim, str)}
        for tensor in self.outputs:
            missing = {dim for dim in tensor.shape if isinstance(dim, str)} - used
            if missing:
                raise ValueError(f"output {tensor.name}: no input gives the size of {sorted(missing)}")
        if used != set(self.dims):
            raise ValueError(f"dims are {list(self.dims)}, the inputs use {sorted(used)}")
        reached = 0
        for segment in self.launch_plan:
            if isinstance(segment, NativeSegment | DeviceSegment):
                first, end = segment.kernels
                if first != reached or end < first:
                    raise ValueError(f"launch plan: kernels {first}…{end} do not follow {reached}")
                reached = end
        if reached != len(self.kernels):
            raise ValueError(f"launch plan covers {reached} of {len(self.kernels)} kernels")
        if MANIFEST in self.files:
            raise ValueError(f"files list {MANIFEST} itself")
        return self

    def to_bytes(self) -> bytes:
        """The bytes of `manifest.json`."""
        return canonical_json(self.model_dump(mode="json"))

    @property
    def digest(self) -> str:
        """The name of the bundle: SHA-256 of the manifest's bytes, in hex."""
        return hashlib.sha256(self.to_bytes()).hexdigest()

    @classmethod
    def from_bytes(cls, data: bytes, source: str) -> Manifest:
        """Reads a manifest that may come from anywhere; `source` names it in errors.

        Raises: E301 not a canonical manifest; E302 another bundle format; E305 another ABI.
        """
        if len(data) > MAX_MANIFEST_BYTES:
            raise ArtifactError("E301", source=source, why=f"{len(data)} bytes, at most {MAX_MANIFEST_BYTES}")
        try:
            versions = _Versions.model_validate_json(data)
            if versions.format_version != FORMAT_VERSION:
                raise ArtifactError("E302", expected=FORMAT_VERSION, found=versions.format_version)
            if versions.abi_version != ABI_VERSION:
                raise ArtifactError("E305", expected=ABI_VERSION, found=versions.abi_version)
            manifest = cls.model_validate_json(data)
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            place = ".".join(map(str, first["loc"]))
            raise ArtifactError("E301", source=source, why=f"{place}: {first['msg']}".lstrip(": ")) from None
        if manifest.to_bytes() != data:
            raise ArtifactError("E301", source=source, why="it is not in canonical form")
        return manifest
