"""The `rlx` command, as a user types it."""

from __future__ import annotations

import io
import json
import socket
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

from rlx.cli import main
from rlx_base.errors import ArtifactError
from rlx_wire.manifest import Manifest

MODEL = """\
# doubles, then keeps what is positive
@rlx.module
def net():
    x = rlx.tensor(shape=[2, 3], dtype="float32")
    y = rlx.relu(x * 2.0)
    return y
"""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RLX_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")


def test_verify_tells_the_pair_of_ops_that_breaks_coherence(tmp_path: Path) -> None:
    path = tmp_path / "net.rlx"
    far = 'memory_affinity={"location": "HBM", "coherence": "none"}'
    path.write_text(MODEL.replace("rlx.relu(x * 2.0)", f"rlx.exp(rlx.relu(x, {far}), location='DDR')"))
    done = rlx("verify", path, "--check", "memory_coherence")
    assert done.returncode == 1
    assert "exp reads" in done.stderr
    assert "which relu wrote on the device" in done.stderr


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "net.rlx"
    path.write_text(MODEL)
    return path


def rlx(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """The whole command, exit code and all, in this process."""
    command = ["rlx", *map(str, arguments)]
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", command)
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
    return subprocess.CompletedProcess(command, code, out.getvalue(), err.getvalue())


def test_the_command_is_installed() -> None:
    command = [str(Path(sys.executable).parent / "rlx"), "--version"]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert answer.returncode == 0
    assert answer.stdout.startswith("rlx 0.1.0")


def test_the_version_names_the_release_and_with_v_what_is_there() -> None:
    short = rlx("--version")
    assert short.returncode == 0
    assert short.stdout.startswith("rlx 0.1.0")
    long = json.loads(rlx("--version", "-v", "--json").stdout)
    assert long["llvm"]
    assert {device["type"] for device in long["devices"]} >= {"cpu", "cuda", "opencl"}


def test_without_a_command_it_shows_its_commands_and_says_bad_usage() -> None:
    answer = rlx()
    assert answer.returncode == 2
    assert "compile" in answer.stdout


@pytest.mark.parametrize("target", ["llvm", "c"])
def test_a_model_is_verified_compiled_checked_and_run(model: Path, tmp_path: Path, target: str) -> None:
    verified = json.loads(rlx("verify", model, "--json").stdout)
    assert verified["inputs"] == {"x": "float32[2, 3]"}
    compiled = rlx("compile", "-m", model, "-o", tmp_path / "out", "-t", target, "--json")
    (bundle,) = json.loads(compiled.stdout)["bundles"]
    assert rlx("verify", bundle["directory"]).returncode == 0
    x = np.array([[1, -2, 3], [-4, 5, -6]], np.float32)
    np.save(tmp_path / "x.npy", x)
    ran = rlx("infer", "-m", bundle["directory"], "-i", f"x={tmp_path}/x.npy", "-o", tmp_path / "results", "--json")
    assert json.loads(ran.stdout)["outputs"]["output"]["data"] == np.maximum(2 * x, 0).ravel().tolist()
    assert np.array_equal(np.load(tmp_path / "results" / "output.npy"), np.maximum(2 * x, 0))


SMALL = """\
@rlx.module
def small():
    x = rlx.tensor(shape=[3], dtype="bfloat16")
    word = rlx.tensor(shape=[1], dtype="string")
    y = rlx.cast(x, to="float8_e4m3fn")
    return {"y": y, "loud": rlx.string_concat(word, rlx.text(texts=["!"], shape=[1]))}
"""


def test_texts_and_small_floats_are_read_shown_and_written(model: Path, tmp_path: Path) -> None:
    model.write_text(SMALL)
    np.save(tmp_path / "x.npy", np.array([1, -2.5, 449], np.float32).astype("bfloat16"))
    ran = rlx("infer", "-m", model, "-i", f"x={tmp_path}/x.npy", "-i", "word=hé", "-o", tmp_path / "out", "--json")
    assert json.loads(ran.stdout)["outputs"] == {
        "y": {"dtype": "float8_e4m3fn", "shape": [3], "data": [1.0, -2.5, 448.0]},
        "loud": {"dtype": "string", "shape": [1], "data": ["hé!"]},
    }
    assert np.load(tmp_path / "out" / "loud.npy", allow_pickle=False).tolist() == ["hé!"]
    shown = rlx("infer", "-m", model, "-i", f"x={tmp_path}/x.npy", "-i", "word=a")
    assert "y: float8_e4m3fn[3] [" in shown.stdout
    assert "loud: string[1] ['a!']" in shown.stdout


def test_a_profile_is_a_chrome_trace(model: Path, tmp_path: Path) -> None:
    answer = rlx("infer", "-m", model, "-i", "1.0", "--profile", tmp_path / "profile.json")
    assert answer.returncode == 0, answer.stderr
    trace = json.loads((tmp_path / "profile.json").read_text())
    assert any(event["ph"] == "X" for event in trace["traceEvents"])


def test_explain_shows_schedule_and_reasons(model: Path, tmp_path: Path) -> None:
    answer = rlx("compile", "-m", model, "-o", tmp_path / "out", "--explain")
    assert "kernel" in answer.stdout
    assert "because" in answer.stdout


def test_fmt_writes_canonical_form_once_and_keeps_comments(model: Path) -> None:
    model.write_text(MODEL.replace("rlx.relu(x * 2.0)", "rlx.relu( x*2.0 )"))
    assert rlx("fmt", "--check", model).returncode == 1
    assert rlx("fmt", model).returncode == 0
    assert model.read_text().startswith("# doubles, then keeps what is positive\n")
    assert rlx("fmt", "--check", model).returncode == 0


def test_a_wrong_program_is_shown_with_its_caret_and_exit_code_1(model: Path) -> None:
    model.write_text(MODEL.replace("rlx.relu", "rlx.rleu"))
    answer = rlx("verify", model)
    assert answer.returncode == 1
    assert "net.rlx:5:9: error[RLX-E101]: unknown op" in answer.stderr
    assert "^^^^^" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_a_changed_bundle_is_rejected(model: Path, tmp_path: Path) -> None:
    rlx("compile", "-m", model, "-o", tmp_path / "out")
    (tmp_path / "out" / "llvm" / "weights.bin").write_bytes(b"changed")
    answer = rlx("verify", tmp_path / "out" / "llvm")
    assert answer.returncode == 1
    assert "artifact rejected" in answer.stderr


def test_a_whole_bundle_for_another_machine_is_verified(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(manifest: Manifest) -> NoReturn:
        raise ArtifactError("E312", target=manifest.target, why="there is no driver")

    rlx("compile", "-m", model, "-o", tmp_path / "out")
    monkeypatch.setattr("rlx_runtime.check_host", refuse)
    answer = rlx("verify", tmp_path / "out" / "llvm")
    assert answer.returncode == 0
    assert "every file matches" in answer.stdout
    assert "this host cannot run it: nothing here runs bundles of target llvm: there is no driver" in answer.stdout
    (tmp_path / "out" / "llvm" / "weights.bin").write_bytes(b"changed")
    assert rlx("verify", tmp_path / "out" / "llvm").returncode == 1


def test_the_address_of_the_command_line_goes_before_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "node.yaml").write_text("bind_addr: 127.0.0.1:1\n")
    with socket.create_server(("127.0.0.1", 0)) as busy:
        address = f"127.0.0.1:{busy.getsockname()[1]}"
        command = [str(Path(sys.executable).parent / "rlx"), "run", "-c", str(tmp_path / "node.yaml")]
        answer = subprocess.run([*command, "--bind-addr", address], capture_output=True, text=True, timeout=60)
    assert answer.returncode == 3
    assert f"cannot listen on {address}" in answer.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("compile", "-m", "MODEL", "-o", "out", "-t", "lvm"), 1, "did you mean 'llvm'?"),
        (("compile", "-m", "nowhere.rlx", "-o", "out"), 2, "nowhere.rlx"),
        (("infer", "-m", "MODEL"), 2, "input 'x' is not given"),
        (("infer", "-m", "MODEL", "-i", "z=1"), 2, "the model has no input 'z'"),
        (("infer", "-m", "MODEL", "-i", "x=nowhere.npy"), 2, "nowhere.npy"),
        (("infer", "-m", "MODEL", "-i", "x=photo.png"), 2, "not an image's (1, 3, H, W)"),
        (("compile", "-m", "MODEL", "-o", "out", "--dim", "N"), 2, "--dim N=4"),
        (("frobnicate",), 2, "frobnicate"),
    ],
)
def test_bad_usage_says_what_to_do(
    model: Path, tmp_path: Path, arguments: tuple[str, ...], code: int, says: str
) -> None:
    given = {"MODEL": model, "out": tmp_path / "out"}
    answer = rlx(*(given.get(argument, argument) for argument in arguments))
    assert says in answer.stderr
    assert answer.returncode == code
    assert "Traceback" not in answer.stderr


def test_an_onnx_model_becomes_text_that_runs(tmp_path: Path) -> None:
    import onnx
    from onnx import TensorProto, helper

    def info(name: str) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 2])

    graph = helper.make_graph([helper.make_node("Relu", ["in.0"], ["y"])], "net", [info("in.0")], [info("y")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]), tmp_path / "net.onnx")
    answer = json.loads(rlx("import", tmp_path / "net.onnx", "--dim", "n=3", "--json").stdout)
    assert answer["inputs"] == {"in_0": "float32[3, 2]"}
    assert answer["renamed"] == {"in.0": "in_0"}
    assert "rlx.relu(in_0)" in (tmp_path / "net.rlx").read_text()
    assert rlx("verify", tmp_path / "net.rlx").returncode == 0


def test_what_cannot_be_imported_is_listed_and_exits_with_an_answer(tmp_path: Path) -> None:
    (tmp_path / "net.onnx").write_bytes(b"no model")
    refused = rlx("import", tmp_path / "net.onnx")
    assert refused.returncode == 1
    assert "RLX-E214" in refused.stderr
    assert rlx("import", tmp_path / "net.onnx", "-o", tmp_path / "net.txt").returncode == 2
    assert rlx("import", tmp_path / "net.onnx", "--value", "axes").returncode == 2
