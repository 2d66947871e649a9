"""The commands that look at a model, a profile, the cache and the machine."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

from rlx.caching import CompileCache
from rlx.cli import app
from rlx_base.errors import ArtifactError, CompileError, VerifyError
from rlx_wire.bundle import verify_bundle

MODEL = """@rlx.module
def net():
    x = rlx.tensor(shape=["N", 64], dtype="float32")
    w = rlx.constant(value=np.random.randn(64, 32).astype(np.float32))
    return rlx.relu((x * 2.0) @ w)
"""


def rlx(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CompileCache:
    monkeypatch.setenv("RLX_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return CompileCache.default()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "net.rlx"
    path.write_text(MODEL)
    return path


def test_a_second_compile_comes_from_the_cache(model: Path, cache: CompileCache) -> None:
    first = json.loads(rlx("compile", "-m", model, "--dim", "N=4", "--json").output)["bundles"][0]
    again = rlx("compile", "-m", model, "--dim", "N=4", "-o", "elsewhere")
    assert not first["cached"]
    assert "from the cache" in again.output
    assert verify_bundle(Path("build/net/llvm")).digest == verify_bundle(Path("elsewhere/llvm")).digest
    listed = json.loads(rlx("cache", "ls", "--json").output)
    assert [entry["model"] for entry in listed["entries"]] == ["net"]
    assert "just now" in rlx("cache", "ls").output
    (held,) = cache.entries()
    assert json.loads(rlx("cache", "gc", "--keep", "0B", "--json").output)["deleted"] == [held.key]
    assert cache.entries() == []


@pytest.mark.parametrize("command", [("compile", "-o", "out", "-m"), ("analyze", "-m"), ("infer", "-i", "x=1", "-m")])
def test_a_dimension_that_the_model_lacks_is_refused_with_those_it_has(model: Path, command: tuple[str, ...]) -> None:
    error = rlx(*command, model, "--dim", "M=1", "--dim", "N=1").exception
    assert isinstance(error, CompileError)
    assert error.message == "net has no dimension M"
    assert error.help.endswith(": N")


def test_infer_compiles_a_text_once(model: Path, cache: CompileCache) -> None:
    for size in (4, 4, 5):
        answer = rlx("infer", "-m", model, "-i", "x=1", "--dim", f"N={size}", "--json")
        assert json.loads(answer.output)["outputs"]["output"]["shape"] == [size, 32]
    assert len(cache.entries()) == 2


def test_collecting_refuses_what_is_no_size(model: Path) -> None:
    assert rlx("cache", "gc", "--keep", "much").exit_code == 2
    assert rlx("cache", "gc", "--unused", "7d").exit_code == 0


def test_all_is_every_target_whose_tools_are_here(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiling for each is the matrix's test; here, for two."""
    monkeypatch.setattr("rlx_compiler.targets.usable_targets", lambda: ("llvm", "wasm"))
    answer = rlx("compile", "-m", model, "--dim", "N=1", "-t", "all", "--json")
    assert [bundle["target"] for bundle in json.loads(answer.stdout)["bundles"]] == ["llvm", "wasm"]
    assert "riscv64 is left out: its tools are not installed here" in answer.stderr


def test_what_fails_for_one_target_stops_no_other(model: Path) -> None:
    answer = rlx("compile", "-m", model, "--dim", "N=1", "-t", "c:pdp11,wasm,lvm,wasm", "-o", "out")
    assert isinstance(answer.exception, CompileError)
    assert answer.exception.code == "RLX-E202"
    assert verify_bundle(Path("out/wasm")).target == "wasm"
    assert [path.name for path in Path("out").iterdir()] == ["wasm"]


def test_every_phase_is_written_in_order(model: Path) -> None:
    assert rlx("compile", "-m", model, "--dim", "N=4", "--dump-phases", "phases", "--until", "code").exit_code == 0
    names = [path.name for path in sorted(Path("phases").iterdir())]
    assert names[0] == "00-read.rlx"
    assert any(name.endswith("-share-common.rlx") for name in names)
    assert names[-2].endswith("-loops.loops") or names[-1].endswith(".ll")
    assert not Path("build").exists()


def test_until_shows_the_program_after_a_phase(model: Path) -> None:
    assert "rlx.relu" in rlx("compile", "-m", model, "--dim", "N=4", "--until", "read").output
    assert "kernel " in rlx("compile", "-m", model, "--dim", "N=4", "--until", "loops").output
    assert (
        "define"
        in json.loads(rlx("compile", "-m", model, "--dim", "N=4", "--until", "code", "--json").output)[
            "files"
        ].popitem()[1]
    )
    wrong = rlx("compile", "-m", model, "--dim", "N=4", "--until", "loop").exception
    assert isinstance(wrong, CompileError)
    assert "did you mean 'loops'" in wrong.message


def test_analyze_says_what_bounds_each_kernel(model: Path) -> None:
    answer = json.loads(rlx("analyze", "-m", model, "--dim", "N=512", "--json").output)
    (kernel,) = [one for one in answer["kernels"] if "matmul" in one["ops"]]
    assert kernel["flops"] >= 2 * 512 * 64 * 32
    assert kernel["intensity"] == pytest.approx(kernel["flops"] / kernel["bytes"])
    assert {one["bound"] for one in answer["kernels"]} <= {"compute", "memory"}
    assert answer["splittable"] == {"matmul": True, "mul": True, "relu": True}
    table = rlx("analyze", "-m", model, "--dim", "N=1", "-t", "c:x86-64-v2")
    assert "net for c on x86-64-v2" in table.output
    assert "limits exceeded: none" in table.output


def test_analyze_lists_the_tiles_that_a_wrong_one_is_told_of(model: Path) -> None:
    tiles = {
        (tile["op"], tile["operand"]): tile["sizes"]
        for tile in json.loads(rlx("analyze", "-m", model, "--tiles", "--json").output)["tiles"]
    }
    assert tiles["matmul", "output"] == {"row": "N", "column": 32}
    assert "row 1..N, column 1..32" in rlx("analyze", "-m", model, "--tiles").output
    wrong = MODEL.replace("(x * 2.0) @ w", 'rlx.matmul(x, w, tile_layout={"output": {"column": 33}})')
    Path("wrong.rlx").write_text(wrong)
    refused = rlx("analyze", "-m", "wrong.rlx", "--tiles").exception
    assert isinstance(refused, VerifyError)
    assert "output {row: 1..N, column: 1..32}" in refused.help


def test_a_profile_is_a_table_and_a_page(model: Path) -> None:
    ran = rlx("compile", "-m", model, "--dim", "N=4", "-o", "out")
    assert ran.exit_code == 0
    assert rlx("infer", "-m", "out/llvm", "-i", "x=1", "--profile", "profile.json").exit_code == 0
    answer = json.loads(rlx("profile-viewer", "profile.json", "--json").output)
    assert answer["model"] == "net"
    assert sum(kernel["share"] for kernel in answer["kernels"]) == pytest.approx(1)
    shown = rlx("profile-viewer", "profile.json", "--html", "page.html")
    assert "KERNEL" in shown.output
    page = Path("page.html").read_text()
    assert '"rows":[[' in page
    assert "{{" not in page
    assert "http" not in page.replace("http-equiv", "")


def test_the_timeline_opens_in_the_browser(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    event = {"ph": "X", "name": "<k>", "ts": 0, "dur": 2, "tid": 0, "args": {"flops": 4000, "run": 0}}
    Path("p.json").write_text(json.dumps({"traceEvents": [event, {**event, "ts": 1, "tid": 1}]}))
    assert rlx("profile-viewer", "p.json", "--open").exit_code == 0
    assert opened == [Path("p.html").resolve().as_uri()]
    assert "<k>" not in Path("p.html").read_text()
    (kernel,) = json.loads(rlx("profile-viewer", "p.json", "--json").output)["kernels"]
    assert kernel["total_ms"] == pytest.approx(0.003)
    assert kernel["gflops"] == pytest.approx(4000 / 3e-6 / 1e9)


@pytest.mark.parametrize("text", ["no json", "{}", '{"traceEvents": [{"ph": "X"}]}', "[]"])
def test_what_is_no_profile_is_refused(text: str) -> None:
    Path("p.json").write_text(text)
    assert isinstance(rlx("profile-viewer", "p.json").exception, ArtifactError)


def test_the_doctor_finds_this_machine_fit_and_names_a_busy_port(tmp_path: Path) -> None:
    config = tmp_path / "node.yaml"
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
        config.write_text(yaml.safe_dump({"bind_addr": f"127.0.0.1:{port}"}))
        answer = rlx("doctor", "-c", config, "--json")
    assert answer.exit_code == 1
    findings = {one["what"]: one for one in json.loads(answer.output)["findings"]}
    assert findings["Python"]["state"] == "ok"
    assert findings["LLVM"]["state"] == "ok"
    assert findings[f"port {port}"]["state"] == "bad"


def test_the_doctor_finds_open_doors_dead_services_and_wrong_keys(tmp_path: Path) -> None:
    config = tmp_path / "node.yaml"
    gss = {"gss": {"endpoints": ["http://127.0.0.1:1"]}, "mode": "distributed"}
    config.write_text(yaml.safe_dump({"bind_addr": "0.0.0.0:18999", "cluster": gss}))
    answer = rlx("doctor", "-c", config)
    assert answer.exit_code == 1
    assert "BAD  bind_addr: 0.0.0.0:18999 is open and no key is set" in answer.output
    assert "BAD  GSS: http://127.0.0.1:1 cannot be reached" in answer.output
    config.write_text("bind_adr: 127.0.0.1:1")
    assert "did you mean bind_addr?" in rlx("doctor", "-c", config).output
