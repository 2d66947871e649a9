"""The check of a GPU says so where there is none, and picks the code for the GPU that it finds."""

from __future__ import annotations

import pytest

from benchmarks import gpu_check
from rlx_base.errors import ArtifactError


def test_without_a_gpu_it_says_why_and_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def nothing(target: str) -> None:
        raise ArtifactError("E312", target=target, why="no driver")

    monkeypatch.setattr(gpu_check, "find_runner", nothing)
    monkeypatch.setattr("sys.argv", ["gpu-check"])
    assert gpu_check.main() == 3
    assert "nothing here runs bundles of target cuda: no driver" in capsys.readouterr().err


@pytest.mark.parametrize(("capability", "target"), [(75, "sm_75"), (89, "sm_80"), (90, "sm_90"), (103, "sm_100")])
def test_the_code_is_for_the_newest_named_gpu_that_is_no_newer(capability: int, target: str) -> None:
    assert gpu_check.target_of(capability) == f"cuda:{target}"
