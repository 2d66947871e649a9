"""`rlx init` and `rlx run`: what is generated runs as it is."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from rlx.checkup import examine
from rlx.cli import app
from rlx.project import is_name
from rlx_client import RLXClient
from rlx_ir import verify
from rlx_ir.text import parse, print_file

MODEL = """@rlx.module
def net():
    x = rlx.tensor(shape=[2, 3], dtype="float32")
    return rlx.relu(x * 2.0)
"""


def rlx(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RLX_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    assert rlx("init", "vision").exit_code == 0
    monkeypatch.chdir("vision")
    return tmp_path / "vision"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


@contextmanager
def started(*command: object, port: int) -> Iterator[str]:
    """The URL of a node that a command started; it is told to end afterwards, and ends well."""
    node = subprocess.Popen(
        [str(part) for part in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | {"RLX_BIND_ADDR": f"127.0.0.1:{port}"},
    )
    assert node.stdout is not None
    try:
        assert node.stdout.readline() == f"RLX Runtime started on http://127.0.0.1:{port}\n"
        yield f"http://127.0.0.1:{port}"
        node.send_signal(signal.SIGTERM)
        assert node.wait(30) == 0
    finally:
        node.kill()
        node.wait()
        node.stdout.close()


def test_a_project_has_all_its_files_and_its_name(project: Path) -> None:
    files = {str(path.relative_to(project)) for path in project.rglob("*") if path.is_file()}
    assert files >= {
        "pyproject.toml",
        "src/main.py",
        "src/model.py",
        "models/resnet18.rlx",
        "configs/local.yaml",
        "configs/cluster.yaml",
        "scripts/deploy.sh",
    }
    assert 'name = "vision"' in (project / "pyproject.toml").read_text()
    assert not any("{{" in (project / name).read_text() for name in files)
    assert os.access(project / "scripts/deploy.sh", os.X_OK)


def test_a_folder_in_use_and_a_name_that_cannot_be_are_refused(project: Path) -> None:
    assert rlx("init", project).exit_code == 2
    assert "is not empty" in rlx("init", project).output
    assert "cannot be called" in rlx("init", "3d models").output
    assert not is_name("a" * 65)


def test_the_resnet_is_whole_and_in_canonical_form(project: Path) -> None:
    text = (project / "models/resnet18.rlx").read_text()
    module = parse(text)
    verify(module)
    weights = sum(int(np.prod(constant.type.shape)) for constant in module.constants)
    assert weights == 11_679_912  # ResNet-18 without the scale and shift of its norms
    assert "tile_layout" in text
    assert "compute_schedule" in text
    uncommented = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#")) + "\n"
    assert uncommented == print_file((module,))


def test_the_configurations_hold(project: Path) -> None:
    for name in ("local", "cluster"):
        assert not [one for one in examine(project / f"configs/{name}.yaml") if one.what == "config"]


def test_a_node_serves_a_model_and_writes_its_profile(project: Path) -> None:
    (project / "net.rlx").write_text(MODEL)
    command = [Path(sys.executable).parent / "rlx", "run", "-c", "configs/local.yaml", "-m", "net.rlx", "--profiling"]
    x = np.array([[1, -2, 3], [-4, 5, -6]], np.float32)
    with started(*command, port=free_port()) as url, RLXClient(endpoints=[url]) as client:
        for _ in range(3):
            assert np.array_equal(client.infer("net", {"x": x}).outputs["output"], np.maximum(2 * x, 0))
        assert [node.record.id for node in client.nodes().nodes] == ["local"]
    trace = json.loads((project / "profile.json").read_text())
    assert len({event["args"]["run"] for event in trace["traceEvents"] if event["ph"] == "X"}) == 3


def test_a_node_of_the_cluster_file_serves_while_the_cluster_is_away(project: Path) -> None:
    (project / "net.rlx").write_text(MODEL)
    command = [Path(sys.executable).parent / "rlx", "run", "-c", "configs/cluster.yaml", "-m", "net.rlx"]
    with (
        started(*command, "--node", "cpu-node-01", port=free_port()) as url,
        RLXClient(endpoints=[url]) as client,
    ):
        assert client.infer("net", {"x": np.ones((2, 3), np.float32)}).node == "cpu-node-01"


def test_the_script_makes_a_unit_that_systemd_takes(project: Path) -> None:
    answer = subprocess.run(
        ["scripts/deploy.sh", "--check"],
        env=os.environ | {"RLX": str(Path(sys.executable).parent / "rlx")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    unit = (project / "build/rlx-vision.service").read_text()
    assert f'--model "{project}/models/resnet18.rlx"' in unit
    assert "DynamicUser=yes" in unit
    if shutil.which("systemd-analyze"):
        assert "finds nothing wrong" in answer.stdout
