"""The API from a terminal: upload, compile there, deploy, look, infer, on a real stack."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rlx.cli import app
from rlx.stack import Ports, StackSettings, running
from rlx_wire.bundle import verify_bundle

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

MODEL = """@rlx.module
def net():
    x = rlx.tensor(shape=[2, 3], dtype="float32")
    return rlx.relu(x * 2.0)
"""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory):
    settings = StackSettings(data=tmp_path_factory.mktemp("stack"), ports=Ports.free())
    with running(settings):
        yield settings.url


@pytest.fixture
def rlx(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RLX_ENDPOINT", url)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.rlx").write_text(MODEL)

    def run(*arguments: object, code: int = 0) -> str:
        answer = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert answer.exit_code == code, answer.output
        return answer.output

    return run


def test_a_model_goes_from_a_file_to_an_answer(rlx, url: str) -> None:
    uploaded = json.loads(rlx("models", "net", "--upload", "net.rlx", "--json"))
    assert (uploaded["model"], uploaded["version"]) == ("net", 1)
    assert "net" in rlx("models")
    assert rlx("models", "net").splitlines()[1].startswith("1")

    compiled = json.loads(rlx("compile", "-m", "net.rlx", "-t", "llvm,c", "--remote", url, "-o", "out", "--json"))
    for bundle in compiled["bundles"]:
        assert verify_bundle(Path(bundle["directory"])).digest == bundle["digest"]
    job = compiled["bundles"][0]["job"]
    assert job in rlx("jobs", "--model", "net")
    assert "succeeded" in rlx("jobs", job, "--wait")

    assert "net: version 1 for llvm" in rlx("deploy", "net", "--target", "llvm")
    assert rlx("deploy").splitlines()[1].startswith("net")
    end = time.monotonic() + 60
    while "net@1/llvm" not in rlx("nodes"):
        assert time.monotonic() < end
        time.sleep(0.2)
    assert rlx("infer", "-m", "net", "-i", "1.5").startswith("output: float32[2, 3] [3.")
    assert json.loads(rlx("deploy", "net", "--remove", "--json")) == {"removed": "net"}


def test_bad_usage_says_what_to_do(rlx) -> None:
    assert "rlx jobs ID --cancel" in rlx("jobs", "--cancel", code=2)
    assert "--label zone=a" in rlx("deploy", "net", "--label", "zone", code=2)


def test_keys_are_made_and_revoked(rlx) -> None:
    made = json.loads(rlx("keys", "create", "a phone app", "--scope", "infer,read", "--json"))
    assert made["scopes"] == ["read", "infer"]
    assert made["key"] not in rlx("keys", "list")
    assert [key["id"] for key in json.loads(rlx("keys", "list", "--json"))["keys"]] == [made["id"]]
    assert "opens nothing any more" in rlx("keys", "revoke", made["id"])
    assert json.loads(rlx("keys", "list", "--json")) == {"keys": []}
    assert "there is no scope 'write'" in rlx("keys", "create", "x", "--scope", "write", code=2)
