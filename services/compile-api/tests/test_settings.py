"""Settings of compile-api."""

from pathlib import Path

import pytest

from rlx_base.errors import ClusterError
from rlx_compile_api.settings import Settings
from rlx_wire.service.settings import refuse_open_doors


def test_a_file_is_weaker_than_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "api.yaml"
    config.write_text("lease_seconds: 9\nmax_losses: 2\n")
    monkeypatch.setenv("RLX_MAX_LOSSES", "7")
    settings = Settings.read(config)
    assert (settings.lease_seconds, settings.max_losses) == (9, 7)


def test_an_unknown_setting_names_the_nearest(tmp_path: Path) -> None:
    config = tmp_path / "api.yaml"
    config.write_text("lease_second: 9\n")
    with pytest.raises(ClusterError) as caught:
        Settings.read(config)
    assert "lease_seconds" in caught.value.help


def test_the_database_is_a_file_in_the_data_folder_by_default(tmp_path: Path) -> None:
    assert Settings(data_folder=tmp_path).database == f"sqlite:///{tmp_path}/compile-api.sqlite3"
    assert Settings(database_url="postgresql+psycopg://x/y").database == "postgresql+psycopg://x/y"


def test_without_a_key_it_does_not_listen_to_the_world() -> None:
    with pytest.raises(ClusterError, match="RLX-E505"):
        refuse_open_doors(Settings(bind_addr="0.0.0.0:8000"))
