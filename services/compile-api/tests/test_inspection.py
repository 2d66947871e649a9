"""A real program is read in a child process; a wrong one is shown with its caret; a huge one costs the child alone."""

from pathlib import Path

import numpy as np
import pytest

from rlx_base.errors import RequestError
from rlx_compile_api.inspection import ChildInspector, Refused
from rlx_ir.archive import write_rlxz
from rlx_ir.constants.safetensors import write_safetensors

STEM = Path(__file__).parents[3] / "examples/resnet18_stem/resnet18_stem.rlx"
INSPECT = ChildInspector(30.0, 4 << 30)

WITH_WEIGHTS = b"""
@rlx.module
def scale():
    x = rlx.tensor(shape=["n", 3], dtype="float32")
    w = rlx.constant(file="w.safetensors", key="w")
    y = rlx.mul(x, w)
    return y
"""
WEIGHTS = write_safetensors({"w": np.arange(3, dtype=np.float32)})


def put(folder: Path, files: dict[str, bytes]) -> Path:
    """Writes the files; gives the path of the first."""
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder / next(iter(files))


def test_the_stem_of_resnet_is_read(tmp_path: Path) -> None:
    path = put(tmp_path, {"net.rlx": STEM.read_bytes()})
    program = INSPECT(path)
    assert program.module == "resnet18_stem"
    assert [(tensor.name, tensor.shape) for tensor in program.inputs] == [("input", (1, 3, 224, 224))]
    assert [tensor.shape for tensor in program.outputs] == [(1, 64, 112, 112)]


def test_weights_come_from_beside_the_text_or_from_the_archive(tmp_path: Path) -> None:
    loose = INSPECT(put(tmp_path, {"net.rlx": WITH_WEIGHTS, "w.safetensors": WEIGHTS}))
    packed = put(tmp_path, {"net.rlxz": write_rlxz(WITH_WEIGHTS.decode(), {"w.safetensors": WEIGHTS})})
    assert INSPECT(packed) == loose
    assert loose.inputs[0].shape == ("n", 3)
    other = put(tmp_path, {"w.safetensors": write_safetensors({"w": np.ones(3, dtype=np.float32)})})
    assert other.exists()
    assert INSPECT(tmp_path / "net.rlx").program_digest != loose.program_digest


@pytest.mark.parametrize(
    ("files", "code", "says"),
    [
        ({"net.rlx": b"import os\n"}, "RLX-E0", "net.rlx:1:1"),
        ({"net.rlx": STEM.read_bytes().replace(b"rlx.relu", b"rlx.relo")}, "RLX-E101", "^^^"),
        ({"net.rlx": STEM.read_bytes().replace(b"64, 3, 7, 7", b"64, 5, 7, 7")}, "RLX-E1", "^"),
        ({"net.rlx": b"\xff"}, "RLX-E004", "UTF-8"),
        ({"net.rlx": b""}, "RLX-E0", ""),
        ({"net.rlx": WITH_WEIGHTS}, "RLX-E042", "w.safetensors"),
        ({"net.rlx": WITH_WEIGHTS.replace(b"w.safe", b"../w.safe")}, "RLX-E041", "../w.safetensors"),
        ({"net.rlxz": b"no zip"}, "RLX-E0", ""),
        ({"net.rlxz": b""}, "RLX-E0", ""),
    ],
)
def test_a_wrong_program_is_refused_with_its_place(
    tmp_path: Path, files: dict[str, bytes], code: str, says: str
) -> None:
    with pytest.raises(Refused) as caught:
        INSPECT(put(tmp_path, files))
    problem = caught.value.problem
    assert problem.status == 422
    assert problem.code.startswith(code)
    assert says in (problem.rendered or problem.detail)
    assert str(tmp_path) not in problem.model_dump_json()


def test_a_program_that_takes_too_long_or_too_much_is_stopped(tmp_path: Path) -> None:
    path = put(tmp_path, {"net.rlx": STEM.read_bytes()})
    with pytest.raises(RequestError, match="E437"):
        ChildInspector(0.01, 4 << 30)(path)
    with pytest.raises(RequestError, match="MiB"):
        ChildInspector(30.0, 32 << 20)(path)


def test_the_child_does_not_get_the_keys_of_the_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = tmp_path / "environment"
    stand_in = tmp_path / "python"
    stand_in.write_text(f"#!/bin/sh\nenv > {seen}\nexit 1\n")
    stand_in.chmod(0o700)
    monkeypatch.setattr("sys.executable", str(stand_in))
    monkeypatch.setenv("RLX_API_KEY", "secret")
    with pytest.raises(RequestError):
        INSPECT(tmp_path / "net.rlx")
    assert "PATH=" in seen.read_text()
    assert "secret" not in seen.read_text()


def test_a_program_is_shown_as_its_text_and_its_graph(tmp_path: Path) -> None:
    shown = INSPECT.program(put(tmp_path, {"net.rlx": WITH_WEIGHTS, "w.safetensors": WEIGHTS}))
    assert (shown.file, shown.text) == ("net.rlx", WITH_WEIGHTS.decode())
    [node] = shown.nodes
    assert (node.op, node.operands, node.line, node.scheduled) == ("mul", ("x", "w"), 6, False)
    assert [(result.name, result.dtype, result.shape) for result in node.results] == [("y", "float32", ("n", 3))]
    assert [constant.name for constant in shown.constants] == ["w"]
    assert [(output.name, output.value) for output in shown.outputs] == [("output", "y")]

    packed = put(tmp_path, {"net.rlxz": write_rlxz(WITH_WEIGHTS.decode(), {"w.safetensors": WEIGHTS})})
    assert INSPECT.program(packed).nodes == shown.nodes


def test_a_node_shows_the_attributes_that_were_set_and_whether_it_is_scheduled(tmp_path: Path) -> None:
    shown = INSPECT.program(put(tmp_path, {"net.rlx": STEM.read_bytes()}))
    conv = next(node for node in shown.nodes if node.op == "conv2d")
    assert conv.scheduled
    assert conv.attributes["strides"] == "(2, 2)"
