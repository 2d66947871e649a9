"""A user's first minutes: the wheels, an environment of their own, `rlx init`, `rlx run`, and an answer."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def run(*command: object, folder: Path, **environment: str) -> str:
    answer = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def test_a_project_runs_with_nothing_but_the_wheels(tmp_path: Path) -> None:
    wheels = tmp_path / "wheels"
    build = ("build", "--quiet", "--all-packages", "--wheel", "--no-build-isolation", "--python", sys.executable)
    run(BIN / "uv", *build, "--out-dir", wheels, folder=ROOT)
    environment = tmp_path / "environment"
    run(BIN / "uv", "venv", "--quiet", "--python", sys.executable, environment, folder=tmp_path)
    # Of RLX only the wheels; the rest at the versions of this environment.
    pins = run(BIN / "uv", "pip", "freeze", "--exclude-editable", "--python", sys.executable, folder=tmp_path)
    (tmp_path / "pins.txt").write_text(pins)
    install = ("pip", "install", "--quiet", "--python", environment / "bin/python", "--find-links", wheels)
    run(BIN / "uv", *install, "--constraint", tmp_path / "pins.txt", "rlx", folder=tmp_path)

    own = {"RLX_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": ""}
    rlx = environment / "bin" / "rlx"
    run(rlx, "init", "x", folder=tmp_path, **own)
    project = tmp_path / "x"
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    node = subprocess.Popen(
        [str(rlx), "run", "--config", "configs/local.yaml", "--model", "models/resnet18.rlx"],
        cwd=project,
        env=os.environ | own | {"RLX_BIND_ADDR": f"127.0.0.1:{port}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert node.stdout is not None
        url = f"http://127.0.0.1:{port}"
        assert node.stdout.readline() == f"RLX Runtime started on {url}\n"
        ask = ("infer", "--model", "resnet18", "--endpoint", url, "--input", "input=0.5")
        assert run(rlx, *ask, folder=project, **own).startswith("logits: float32[1, 1000] [")
        node.send_signal(signal.SIGTERM)
        assert node.wait(30) == 0
    finally:
        node.kill()
        node.wait()
        if node.stdout is not None:
            node.stdout.close()
