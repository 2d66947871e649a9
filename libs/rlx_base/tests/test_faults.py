"""A fault point kills once, where it was asked to, and nowhere else."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rlx_base.faults import reach


def run(fault: str) -> int:
    program = "from rlx_base.faults import reach; reach('here')"
    return subprocess.run([sys.executable, "-c", program], env={"RLX_FAULT": fault}, check=False).returncode


def test_a_point_kills_the_first_process_that_reaches_it(tmp_path: Path) -> None:
    fault = f"here:{tmp_path / 'once'}"
    assert run(fault) == -signal.SIGKILL
    assert run(fault) == 0
    assert run(f"there:{tmp_path / 'other'}") == 0
    assert run("") == 0


def test_in_this_process_it_is_inert(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    reach("here")
    killed: list[tuple[int, int]] = []
    monkeypatch.setattr("os.kill", lambda *call: killed.append(call))
    monkeypatch.setenv("RLX_FAULT", f"here:{tmp_path / 'once'}")
    for _ in range(2):
        reach("here")
    assert [sent for _, sent in killed] == [signal.SIGKILL]
