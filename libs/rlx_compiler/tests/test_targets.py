"""Targets: how they are found and keyed, and that what they make stands alone and is the same each time."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path

import pytest

from libs.rlx_compiler.tests.native import elementwise, number, program_of
from rlx_base.dtypes import DTYPES, FLOAT32
from rlx_base.errors import CompileError
from rlx_compiler.build import build_program
from rlx_compiler.link import LIBRARY, shared_library
from rlx_compiler.loops.ir import Apply, Buffer, Kernel, Load, Store
from rlx_compiler.loops.program import Program
from rlx_compiler.options import CompileOptions
from rlx_compiler.targets import resolve, target_names
from rlx_compiler.toolchain import gcc
from rlx_compiler.toolchain.run import run_tool
from rlx_wire.cpu import LEVELS
from rlx_wire.targets import COMPILE_TARGETS


def everything() -> Program:
    """A program that calls every function there is, also those of several words."""
    names = ["exp", "log", "tanh", "erf", "sin", "cos", "sqrt", "floor", "ceil", "round", "pow", "mod", "floor_div"]
    source = Buffer("source", FLOAT32, (64,))
    out = Buffer("out", FLOAT32, (16 * len(names),), access="write")
    body = []
    for i, name in enumerate(names):
        x = Load(source, (number(16),), 16)
        arguments = (x, Load(source, (number(32),), 16)) if name in ("pow", "mod", "floor_div") else (x,)
        body.append(Store(out, (number(16 * i),), Apply(name, arguments, FLOAT32)))
    return program_of(Kernel("everything", (source, out), tuple(body)))


@pytest.mark.parametrize("target", ["llvm", "c"])
@pytest.mark.parametrize("cpu", ["x86-64-v2", "x86-64-v3", "x86-64-v4"])
def test_code_is_the_same_each_time_and_needs_nothing(target: str, cpu: str) -> None:
    resolved = resolve(CompileOptions(target, 2, cpu))
    files = build_program(everything(), resolved, 2).files
    assert files == build_program(everything(), resolved, 2).files
    assert _dynamic_symbols(files[LIBRARY]) == ["rlx_main"]


def _dynamic_symbols(library: bytes) -> list[str]:
    """The names in .dynsym, defined or not, read from the ELF itself."""
    (sections_at,) = struct.unpack_from("<Q", library, 40)
    size, count = struct.unpack_from("<HH", library, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", library, sections_at + i * size) for i in range(count)]
    table = next(h for h in headers if h[1] == 11)
    strings = headers[table[6]]
    names = []
    for at in range(table[4], table[4] + table[5], 24):
        (name,) = struct.unpack_from("<I", library, at)
        if name:
            start = strings[4] + name
            names.append(library[start : library.index(b"\0", start)].decode())
    return sorted(names)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="the c target needs gcc")
@pytest.mark.parametrize("cpu", ["x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"])
def test_the_c_source_compiles_without_a_warning(cpu: str, tmp_path: Path) -> None:
    resolved = resolve(CompileOptions("c", 3, cpu))
    program = everything()
    integers = elementwise(
        lambda a, b: Apply("mod", (a, b), a.dtype), [DTYPES["int8"]] * 2, DTYPES["int8"], 32, 8, "integers"
    )
    for kernel in (program, program_of(integers)):
        for name, text in resolved.target.emit(kernel, resolved.spec).items():
            (tmp_path / name).write_text(text)
        flags = ["-Wall", "-Werror", *gcc.FLAGS, "-O2", f"-march={cpu}"]
        run_tool(["gcc", *flags, "-c", "kernel.c", "-o", "kernel.o"], tmp_path)


def test_a_processor_is_scheduled_for_and_asks_for_no_more_than_is_listed() -> None:
    resolved = resolve(CompileOptions("llvm:znver4"))
    text = resolved.target.emit(everything(), resolved.spec)["kernel.ll"]
    assert '"target-cpu"="x86-64-v4" "tune-cpu"="znver4"' in text
    assert "avx512bf16" in resolved.spec.features
    code = build_program(everything(), resolved, 2).files[LIBRARY]
    assert code != build_program(everything(), resolve(CompileOptions("llvm:icelake-server")), 2).files[LIBRARY]


def test_host_becomes_a_named_level() -> None:
    assert resolve(CompileOptions("llvm")).spec.cpu in LEVELS
    assert resolve(CompileOptions("c:x86-64-v3")).spec.cpu == "x86-64-v3"
    assert resolve(CompileOptions("llvm", cpu="x86-64-v2")).spec.features == LEVELS["x86-64-v2"].features
    assert resolve(CompileOptions("llvm:x86-64-v4")).spec.lanes(FLOAT32) == 16
    assert resolve(CompileOptions("c:x86-64")).spec.lanes(FLOAT32) == 1


def test_what_is_not_there_is_named_with_what_is() -> None:
    # A name that nothing compiles would be a job that waits for ever.
    assert set(target_names()) == set(COMPILE_TARGETS)
    with pytest.raises(CompileError, match=r"E201.*did you mean 'llvm'"):
        resolve(CompileOptions("lvm"))
    with pytest.raises(CompileError, match=r"E202.*did you mean 'x86-64-v3'"):
        resolve(CompileOptions("llvm:x86-64-v33"))
    with pytest.raises(CompileError, match=r"E203"):
        CompileOptions(opt_level=4)


def test_an_object_that_needs_a_library_is_not_linked(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text('void puts(const char *); void rlx_main(void) { puts(""); }')
    run_tool(["gcc", "-c", "-fPIC", "-fno-builtin", "a.c", "-o", "a.o"], tmp_path)
    with pytest.raises(CompileError) as refused:
        shared_library(["a.o"], tmp_path)
    assert "puts" in (refused.value.caused_by or "")


def test_a_missing_tool_is_named(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match=r"E204.*no-such-compiler"):
        run_tool(["no-such-compiler"], tmp_path)
