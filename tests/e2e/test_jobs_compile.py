"""A program goes in as text and comes out as a bundle, through the services that users start."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rlx_wire.bundle import unpack_bundle
from tests.support.jobs_stack import JobsStack

STEM = Path(__file__).parents[2] / "examples/resnet18_stem/resnet18_stem.rlx"


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JobsStack]:
    stack = JobsStack(tmp_path_factory.mktemp("stack"), real=True)
    try:
        stack.start()
        yield stack
    finally:
        stack.stop()


def test_the_stem_of_resnet_is_compiled_for_each_target(stack: JobsStack, tmp_path: Path) -> None:
    version = stack.upload(STEM.read_bytes())
    done = stack.ended(stack.compile("llvm", "c", "llvm:x86-64-v2")["id"], 120)
    assert done["state"] == "succeeded", done
    for task in done["tasks"]:
        bundle = stack.client.get(f"/v1/artifacts/{task['artifact']}/bundle").content
        manifest = unpack_bundle(bundle, tmp_path / task["id"], task["artifact"])
        assert (manifest.target, manifest.cpu) == (task["target"], task["cpu"])
        assert manifest.program_digest == version["program_digest"]
        assert (tmp_path / task["id"] / "librlx_kernel.so").is_file()
    (attempt,) = done["tasks"][0]["attempts"]
    assert attempt["seconds_by_phase"]


def test_an_upload_that_does_not_hold_together_is_shown_with_its_caret(stack: JobsStack) -> None:
    wrong = STEM.read_bytes().replace(b"rlx.relu", b"rlx.relo")
    answer = stack.client.post("/v1/models/wrong/versions", files={"model": ("wrong.rlx", wrong)})
    assert answer.status_code == 422
    assert "^^^" in answer.json()["rendered"]
    assert answer.json()["file"] == "wrong.rlx"
