"""From a model's text to its bundle: what is in it, that it is the same each time, and the limits of a compilation."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from rlx_base.errors import CompileError, TextError
from rlx_compiler import CompileOptions, Limits, compile_module, compile_source
from rlx_compiler.key import cache_key
from rlx_compiler.source import load_module
from rlx_compiler.targets import resolve
from rlx_compiler.toolchain.run import run_tool
from rlx_ir.identity import program_digest
from rlx_ir.text import parse
from rlx_wire.bundle import verify_bundle

TEXT = """\
@rlx.module
def small():
    x = rlx.tensor(shape=[4, 24], dtype="float32")
    w = rlx.constant(value=np.random.randn(24, 40).astype(np.float32) * 0.1)
    b = rlx.constant(value=np.random.randn(40).astype(np.float32))
    y = rlx.tanh(rlx.matmul(x, w) + b)
    z = rlx.softmax(y, axis=1)
    return z
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model" / "small.rlx"
    path.parent.mkdir()
    path.write_text(TEXT)
    return path


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


COMMON = {"manifest.json", "librlx_kernel.so", "rlx_kernel.h", "weights.bin", "report.json", "model.rlx"}


@pytest.mark.parametrize(
    ("target", "files"), [("llvm", {"kernel.ll", "kernel.bc"}), ("c", {"kernel.c", "rlx_model.h"})]
)
def test_a_bundle_holds_its_code_weights_text_and_report(
    model: Path, tmp_path: Path, target: str, files: set[str]
) -> None:
    phases: list[tuple[str, float]] = []
    result = compile_module(
        load_module(model), CompileOptions(target), tmp_path / "out", progress=lambda *p: phases.append(p)
    )
    manifest = verify_bundle(tmp_path / "out", result.digest)
    assert set(manifest.files) | {"manifest.json"} == COMMON | files
    assert (manifest.model, manifest.target) == ("small", target)
    assert [(t.name, t.dtype, t.shape) for t in manifest.inputs] == [("x", "float32", (4, 24))]
    assert parse((tmp_path / "out" / "model.rlx").read_text()) == load_module(model)
    assert json.loads((tmp_path / "out" / "report.json").read_text()) == json.loads(json.dumps(dict(result.report)))
    assert [name for name, _ in phases] == ["lower", "code", "bundle", "done"]
    assert [fraction for _, fraction in phases] == sorted(fraction for _, fraction in phases)
    assert set(result.seconds_by_phase) == {"lower", "code", "bundle"}


@pytest.mark.parametrize("target", ["llvm", "c"])
def test_the_same_source_gives_the_same_bytes_on_another_path_and_in_another_process(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    elsewhere = tmp_path / "a b" / "deeper" / "renamed.rlx"
    elsewhere.parent.mkdir(parents=True)
    elsewhere.write_text(TEXT)
    options = CompileOptions(target)
    compile_module(load_module(model), options, tmp_path / "first")
    for seed, source in (("1", model), ("2", elsewhere)):
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        monkeypatch.setenv("LANG", "C" if seed == "1" else "C.UTF-8")
        compile_source(source, options, tmp_path / "again" / seed)
        assert contents(tmp_path / "again" / seed) == contents(tmp_path / "first")


def test_code_for_the_lowest_cpu_is_plain_c(model: Path, tmp_path: Path) -> None:
    folders = {cpu: tmp_path / cpu for cpu in ("x86-64", "x86-64-v3")}
    for cpu, folder in folders.items():
        compile_module(load_module(model), CompileOptions(f"c:{cpu}"), folder)
        # The header of the bundle is the one that its code includes.
        run_tool(["gcc", "-std=c11", "-Wall", "-Werror", f"-march={cpu}", "-O1", "-c", "kernel.c", "-o", "k.o"], folder)
    assert "vector_size" not in (folders["x86-64"] / "kernel.c").read_text()
    assert "vector_size" in (folders["x86-64-v3"] / "kernel.c").read_text()


def test_the_key_changes_with_all_that_the_bundle_depends_on() -> None:
    module = parse(TEXT)
    options = CompileOptions("llvm:x86-64-v3")

    def key(text: str = TEXT, options: CompileOptions = options) -> str:
        return cache_key(program_digest(parse(text)), resolve(options), options)

    assert key() == cache_key(program_digest(module), resolve(options), options)
    others = [
        key(TEXT.replace("0.1", "0.2")),
        key(options=replace(options, target="llvm:x86-64-v4")),
        key(options=replace(options, target="c:x86-64-v3")),
        key(options=replace(options, opt_level=1)),
        key(options=replace(options, strict=True)),
        key(options=replace(options, dims={"N": 2})),
    ]
    assert len({key(), *others}) == 1 + len(others)


def test_errors_of_the_program_come_out_of_the_child_with_their_place(tmp_path: Path) -> None:
    path = tmp_path / "wrong.rlx"
    path.write_text(TEXT.replace("rlx.tanh", "rlx.tannh"))
    with pytest.raises(Exception, match=r"RLX-E1.*tannh.*did you mean 'tanh'") as raised:
        compile_source(path, CompileOptions(), tmp_path / "out")
    assert raised.value.at.line == 6  # type: ignore[attr-defined]
    path.write_text("import os")
    with pytest.raises(TextError):
        compile_source(path, CompileOptions(), tmp_path / "out")
    with pytest.raises(CompileError, match="RLX-E209"):
        compile_source(tmp_path / "none.rlx", CompileOptions(), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def children() -> list[int]:
    """The processes that this one has started and that still run."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == os.getpid() and fields[0] != "Z":
            found.append(int(status.parent.name))
    return found


def refused(code: str, model: Path, output: Path, **how: object) -> CompileError:
    before = children()
    with pytest.raises(CompileError, match=f"RLX-{code}") as raised:
        compile_source(model, CompileOptions(), output, **how)  # type: ignore[arg-type]
    assert not output.exists()
    assert children() == before
    return raised.value


def test_a_compilation_that_takes_too_long_is_ended(model: Path, tmp_path: Path) -> None:
    refused("E206", model, tmp_path / "out", limits=Limits(seconds=0.05))


def test_a_compilation_that_needs_too_much_memory_is_ended(model: Path, tmp_path: Path) -> None:
    refused("E207", model, tmp_path / "out", limits=Limits(memory_bytes=64 << 20))


def test_a_compilation_is_stopped_from_another_thread(model: Path, tmp_path: Path) -> None:
    over = threading.Event()
    refused("E212", model, tmp_path / "out", over=over, progress=lambda *_: over.set())


def test_a_compiler_that_crashes_takes_its_child_down_and_no_more(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RLX_FAULT", f"compiler.before-link:{tmp_path / 'once'}")
    assert "SIGKILL" in refused("E208", model, tmp_path / "out").message
    # The next one gets by.
    digest = compile_source(model, CompileOptions(), tmp_path / "out").digest
    verify_bundle(tmp_path / "out", digest)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "once", "out"]


_PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", sys.argv[1], str(__import__("os").getpid())],
                         stdin=subprocess.PIPE, start_new_session=True)
child.wait()
"""
_CHILD = """
import os, subprocess, sys
from rlx_compiler.child import _end_with_parent
_end_with_parent(int(sys.argv[1]))
tool = subprocess.Popen(["sleep", "60"])
print(os.getpid(), tool.pid, flush=True)
tool.wait()
"""


def test_a_child_ends_with_its_parent_and_ends_its_tools() -> None:
    parent = subprocess.Popen([sys.executable, "-c", _PARENT, _CHILD], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pids = [int(word) for word in parent.stdout.readline().split()]
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert eventually(lambda: not any(map(runs, pids)))


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def eventually(holds: Callable[[], bool], seconds: float = 10) -> bool:
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True
