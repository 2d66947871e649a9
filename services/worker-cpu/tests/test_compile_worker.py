"""The compile worker starts with the compiler, and says which setting does not fit."""

from typing import Any

import pytest

from rlx_compiler import compile_source
from rlx_worker_cpu.compile_worker import main


def test_a_setting_that_does_not_fit_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["rlx-compile-worker", "--nice", "99"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "nice" in capsys.readouterr().err


def test_it_compiles_in_a_child_process_with_what_it_was_told(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Any] = []
    monkeypatch.setattr("sys.argv", ["rlx-compile-worker", "--name", "w7", "--targets", "c"])
    monkeypatch.setattr("rlx_worker_cpu.compile_worker.configure_logs", lambda _: None)
    monkeypatch.setattr("rlx_worker_cpu.compile_worker.run_worker", lambda *given: started.append(given))
    main()
    ((settings, compile),) = started
    assert (settings.name, settings.targets, compile) == ("w7", ("c",), compile_source)
