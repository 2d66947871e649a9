"""Settings come from a file, the environment and the command line, in growing strength, and errors name the
place.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import Field

from rlx_base.errors import ClusterError
from rlx_wire.service.settings import (
    Section,
    ServiceSettings,
    is_loopback,
    refuse_open_doors,
    split_address,
)


class Gss(Section):
    endpoints: list[str] = Field([])


class Cluster(Section):
    mode: str = "standalone"
    gss: Gss = Gss()


class Settings(ServiceSettings):
    """A service of the test."""

    cluster: Cluster = Cluster()
    labels: dict[str, str] = Field({})
    depth: int = Field(1, ge=1)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "node.yaml"
    path.write_text("depth: 2\ncluster: {mode: distributed, gss: {endpoints: [http://a, http://b]}}\n")
    return path


def test_each_source_is_stronger_than_the_one_before(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Settings.read().depth == 1
    assert Settings.read(file).depth == 2
    monkeypatch.setenv("RLX_DEPTH", "3")
    assert Settings.read(file).depth == 3
    assert Settings.load("test", ["--config", str(file), "--depth", "4"]).depth == 4


def test_a_source_that_sets_one_key_of_a_section_leaves_the_others(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RLX_CLUSTER__MODE", "standalone")
    settings = Settings.load("test", ["--config", str(file), "--labels", '{"zone": "east"}'])
    assert settings.cluster.mode == "standalone"
    assert settings.cluster.gss.endpoints == ["http://a", "http://b"]
    assert settings.labels == {"zone": "east"}


def test_a_list_on_the_command_line_is_written_once_or_repeated() -> None:
    option = "--cluster.gss.endpoints"
    for arguments in ([option, "http://a,http://b"], [option, "http://a", option, "http://b"]):
        assert Settings.load("test", arguments).cluster.gss.endpoints == ["http://a", "http://b"]


@pytest.mark.parametrize(
    ("text", "where", "hint"),
    [
        ("dept: 2", "dept", "did you mean depth?"),
        ("cluster: {gss: {endpoint: x}}", "cluster.gss.endpoint", "did you mean endpoints?"),
        ("zzz: 2", "zzz", "known here: api_key, bind_addr"),
    ],
)
def test_an_unknown_key_is_an_error_that_names_the_nearest(tmp_path: Path, text: str, where: str, hint: str) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text(text)
    with pytest.raises(ClusterError) as caught:
        Settings.read(path)
    assert caught.value.code == "RLX-E505"
    assert f"{path}, {where}: there is no such setting" in caught.value.message
    assert hint in caught.value.help


def test_a_variable_that_is_unknown_within_a_section_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RLX_CLUSTER__MODUS", "x")
    with pytest.raises(ClusterError, match=r"cluster\.modus"):
        Settings.read()


@pytest.mark.parametrize("text", ["[1]", "a: [", "depth: none", "depth: 0", "bind_addr: nowhere"])
def test_a_value_that_does_not_fit_is_an_error_with_its_place(tmp_path: Path, text: str) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text(text)
    with pytest.raises(ClusterError, match=r"E505.*wrong\.yaml"):
        Settings.read(path)
    with pytest.raises(ClusterError, match="E505"):
        Settings.read(tmp_path / "missing.yaml")


def test_an_empty_file_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty.yaml").touch()
    assert Settings.read(tmp_path / "empty.yaml").depth == 1


@pytest.mark.parametrize("bind_addr", ["0.0.0.0:80", "[::]:80", "10.0.0.1:80", "example.org:80"])
def test_without_a_key_only_this_machine_is_served(bind_addr: str) -> None:
    with pytest.raises(ClusterError, match="no key is set"):
        refuse_open_doors(ServiceSettings.model_validate({"bind_addr": bind_addr}))
    refuse_open_doors(ServiceSettings.model_validate({"bind_addr": bind_addr, "api_key": "k"}))
    refuse_open_doors(ServiceSettings.model_validate({"bind_addr": "127.0.0.1:80"}))


def test_addresses() -> None:
    assert split_address("[::1]:80") == ("::1", 80)
    assert is_loopback("::1")
    assert is_loopback("localhost")
    assert not is_loopback("0.0.0.0")


def test_a_key_is_not_shown() -> None:
    settings = ServiceSettings.model_validate({"api_key": "secret"})
    assert settings.key == "secret"
    assert "secret" not in repr(settings)
