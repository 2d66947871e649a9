"""The header and the ctypes mirror are two views of one table: a C compiler has to agree with both."""

import ctypes
import re
import subprocess
from pathlib import Path

import pytest

from rlx_wire.abi import Barrier, Call, Trace, call_layout, header

STRICT = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-ffreestanding"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rlx_kernel.h").write_text(header())
    return tmp_path


def compiled(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(arguments, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("compiler", [["gcc", "-std=c11"], ["g++", "-std=c++11", "-x", "c++"]], ids=lambda c: c[0])
def test_the_header_and_its_assertions_hold_for_c_and_cpp(folder: Path, compiler: list[str]) -> None:
    (folder / "empty.c").write_text('#include "rlx_kernel.h"\n')
    result = compiled(folder, *compiler, *STRICT, "-c", "empty.c", "-o", "empty.o")
    assert result.returncode == 0, result.stderr


def test_a_mirror_that_differs_is_caught_by_the_compiler(folder: Path) -> None:
    moved, count = re.subn(r"int32_t thread_index;", "int64_t thread_index;", header())
    assert count == 1
    (folder / "rlx_kernel.h").write_text(moved)
    (folder / "empty.c").write_text('#include "rlx_kernel.h"\n')
    result = compiled(folder, "gcc", "-std=c11", "-c", "empty.c", "-o", "empty.o")
    assert "rlx_call.thread_count" in result.stderr


def test_c_reads_each_field_where_python_wrote_it(folder: Path) -> None:
    fields = [name for name, *_ in Call._fields_]
    values = "\n".join(f"  out[{i}] = (int64_t)call->{name};" for i, name in enumerate(fields))
    (folder / "read.c").write_text(
        f'#include "rlx_kernel.h"\nvoid read_call(const rlx_call *call, int64_t *out) {{\n{values}\n}}\n'
    )
    result = compiled(folder, "gcc", "-shared", "-fPIC", "-w", "read.c", "-o", "read.so")
    assert result.returncode == 0, result.stderr
    call = Call(*range(1, len(fields) + 1))
    out = (ctypes.c_int64 * len(fields))()
    ctypes.CDLL(str(folder / "read.so")).read_call(ctypes.byref(call), out)
    assert list(out) == list(range(1, len(fields) + 1))


def test_the_sizes_of_version_one_are_frozen() -> None:
    assert (ctypes.sizeof(Call), ctypes.sizeof(Barrier), ctypes.sizeof(Trace)) == (120, 16, 24)
    assert Call.thread_index.offset == 56
    assert Call.clock.offset == 88


def test_the_layout_for_this_machine_is_the_mirror() -> None:
    layout = call_layout(ctypes.sizeof(ctypes.c_void_p))
    assert layout.size == ctypes.sizeof(Call)
    assert layout.offsets == {name: getattr(Call, name).offset for name, *_ in Call._fields_}


def test_the_layout_for_32_bits_has_pointers_of_four_bytes() -> None:
    layout = call_layout(4)
    assert layout.offset("outputs") - layout.offset("inputs") == 4
    assert layout.size == layout.offset("host_context") + 4 == 68
