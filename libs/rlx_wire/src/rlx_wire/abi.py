"""The native ABI, version 1: how a runtime calls compiled code.

One table gives both the ctypes mirror and the C header, and the header asserts that a C compiler agrees.

A compiled model exports `int32_t rlx_main(const rlx_call *call)`. It is SPMD: every member of a thread team
calls it once per inference with its own `thread_index`, works on its share of each kernel and meets the
others at the barrier. The struct is sized and versioned, so that fields can be added at its end without a new
entry point.

Everything that the code may call back is the address of a C function (libc's `sched_yield`, `clock_gettime`):
a Python callback would need the interpreter's lock in the middle of a kernel.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

__all__ = [
    "ABI_VERSION",
    "ALIGNMENT",
    "CLOCK_MONOTONIC",
    "ENTRY",
    "RLX_BAD_CALL",
    "RLX_CANCELLED",
    "RLX_HOST_OP_FAILED",
    "RLX_OK",
    "Barrier",
    "Call",
    "CallLayout",
    "Trace",
    "call_layout",
    "header",
]

ABI_VERSION: Final = 1
ENTRY: Final = "rlx_main"
# Inputs, outputs, weights and workspace all begin on such a boundary: one cache line, one AVX-512 register.
ALIGNMENT: Final = 64
# The `clock_id` that compiled code hands to `clock` (its number on Linux).
CLOCK_MONOTONIC: Final = 1

# What rlx_main returns.
RLX_OK: Final = 0
RLX_BAD_CALL: Final = 1
RLX_CANCELLED: Final = 2
RLX_HOST_OP_FAILED: Final = 3


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    type: Any
    declaration: str
    meaning: str = ""


_POINTER: Final = ctypes.c_void_p

_TRACE: Final = (
    _Field("start_ns", ctypes.c_int64, "int64_t start_ns", "this thread's share of the kernel began"),
    _Field("end_ns", ctypes.c_int64, "int64_t end_ns", "and ended, by the caller's clock"),
    _Field("kernel", ctypes.c_int32, "int32_t kernel", "index into the manifest's kernels"),
    _Field("thread", ctypes.c_int32, "int32_t thread", "thread_index of the member"),
)
_BARRIER: Final = (
    _Field("arrived", ctypes.c_int32, "int32_t arrived", "members that wait in this generation"),
    _Field("generation", ctypes.c_int32, "int32_t generation", "goes up each time all have arrived"),
    _Field("spins", ctypes.c_int32, "int32_t spins", "how often to look before calling park"),
    _Field("reserved", ctypes.c_int32, "int32_t reserved"),
)
_CALL: Final = (
    _Field("size", ctypes.c_uint32, "uint32_t size", "sizeof(rlx_call) of the caller"),
    _Field("abi_version", ctypes.c_uint32, "uint32_t abi_version", "RLX_ABI_VERSION of the caller"),
    _Field("inputs", _POINTER, "void *const *inputs", "in manifest order; row-major, 64-byte aligned"),
    _Field("outputs", _POINTER, "void *const *outputs", "likewise"),
    _Field("weights", _POINTER, "const void *weights", "the packed blob, 64-byte aligned"),
    _Field("workspace", _POINTER, "void *workspace", "workspace_bytes, 64-byte aligned, shared by the team"),
    _Field("state", _POINTER, "void *state", "explicit state; may be NULL"),
    _Field("dims", _POINTER, "const int64_t *dims", "values of the symbolic dims; may be NULL"),
    _Field("thread_index", ctypes.c_int32, "int32_t thread_index", "0 … thread_count - 1"),
    _Field("thread_count", ctypes.c_int32, "int32_t thread_count", "members of the team"),
    _Field("cancel", _POINTER, "const int32_t *cancel", "non-zero: end at the next kernel; may be NULL"),
    _Field("barrier", _POINTER, "rlx_barrier *barrier", "may be NULL when thread_count is 1"),
    _Field("park", _POINTER, "int32_t (*park)(void)", "called between bounded spins; may be NULL"),
    _Field("clock", _POINTER, "int32_t (*clock)(int32_t clock_id, int64_t *timespec)", "NULL: no trace"),
    _Field("trace", _POINTER, "rlx_trace *trace", "row kernel * thread_count + thread; NULL: no trace"),
    _Field(
        "host_op",
        _POINTER,
        "int32_t (*host_op)(void *context, int32_t op, const struct rlx_call *call)",
        "may be NULL",
    ),
    _Field("host_context", _POINTER, "void *host_context", "handed to host_op as it is"),
)


def _members(table: tuple[_Field, ...]) -> list[tuple[str, Any]]:
    return [(field.name, field.type) for field in table]


class Trace(ctypes.Structure):
    """`rlx_trace`: when one thread worked on one kernel."""

    _fields_ = _members(_TRACE)


class Barrier(ctypes.Structure):
    """`rlx_barrier`: shared by a team, zeroed once; `spins` bounds the wait before parking."""

    _fields_ = _members(_BARRIER)


class Call(ctypes.Structure):
    """`rlx_call`: one member's call. Pointers are plain addresses; who fills them keeps the memory alive."""

    _fields_ = _members(_CALL)


@dataclass(frozen=True, slots=True)
class CallLayout:
    """Where the fields of `rlx_call` lie on a machine, and how long it is."""

    size: int
    offsets: Mapping[str, int]

    def offset(self, name: str) -> int:
        return self.offsets[name]


@cache
def call_layout(pointer_bytes: int) -> CallLayout:
    """The layout for pointers of so many bytes, by C's rules: each field on a multiple of its own size."""
    offsets, end, widest = {}, 0, 1
    for field in _CALL:
        size = pointer_bytes if field.type is _POINTER else ctypes.sizeof(field.type)
        offsets[field.name] = end = -(-end // size) * size
        end, widest = end + size, max(widest, size)
    return CallLayout(-(-end // widest) * widest, offsets)


def _struct(name: str, table: tuple[_Field, ...], mirror: type[ctypes.Structure]) -> list[str]:
    """The typedef of one struct, and assertions that a C compiler lays it out as the mirror does."""
    lines = [f"typedef struct {name} {{"]
    for field in table:
        lines.append(f"    {field.declaration};" + (f" /* {field.meaning} */" if field.meaning else ""))
    lines += [f"}} {name};", "", "#if UINTPTR_MAX == UINT64_MAX"]
    for field in table:
        offset = getattr(mirror, field.name).offset
        lines.append(f'RLX_ASSERT(offsetof({name}, {field.name}) == {offset}, "{name}.{field.name}");')
    lines += [f'RLX_ASSERT(sizeof({name}) == {ctypes.sizeof(mirror)}, "{name}");', "#endif", ""]
    return lines


def header() -> str:
    """The text of `rlx_kernel.h`: C11 and C++11, freestanding; the same for all bundles of this ABI version."""
    lines = [
        f"/* The native ABI of RLX, version {ABI_VERSION}. Generated, and the same in every bundle. */",
        "#ifndef RLX_KERNEL_H",
        "#define RLX_KERNEL_H",
        "#include <stddef.h>",
        "#include <stdint.h>",
        "",
        f"#define RLX_ABI_VERSION {ABI_VERSION}",
        f"#define RLX_ALIGNMENT {ALIGNMENT}",
        f"#define RLX_CLOCK_MONOTONIC {CLOCK_MONOTONIC}",
        "",
        "#ifdef __cplusplus",
        "#define RLX_ASSERT(condition, what) static_assert(condition, what)",
        'extern "C" {',
        "#else",
        "#define RLX_ASSERT(condition, what) _Static_assert(condition, what)",
        "#endif",
        "",
        "enum {",
        f"    RLX_OK = {RLX_OK},",
        f"    RLX_BAD_CALL = {RLX_BAD_CALL}, /* size or abi_version does not match */",
        f"    RLX_CANCELLED = {RLX_CANCELLED},",
        f"    RLX_HOST_OP_FAILED = {RLX_HOST_OP_FAILED}",
        "};",
        "",
        *_struct("rlx_trace", _TRACE, Trace),
        *_struct("rlx_barrier", _BARRIER, Barrier),
        *_struct("rlx_call", _CALL, Call),
        f"int32_t {ENTRY}(const rlx_call *call);",
        "",
        "#ifdef __cplusplus",
        "}",
        "#endif",
        "#endif",
        "",
    ]
    return "\n".join(lines)
