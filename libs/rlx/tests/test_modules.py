"""`@rlx.module`: the same language as a `.rlx` file, with errors that point into the Python file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import rlx
from rlx_base.errors import RequestError, RlxError, TextError, VerifyError
from rlx_ir.identity import program_digest
from rlx_ir.text import parse

HERE = Path(__file__)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RLX_CACHE_DIR", str(tmp_path / "cache"))


@rlx.module
def doubled(x: rlx.tensor(shape=["N", 3], dtype="float32")):
    return x * 2.0


@rlx.module
def net():
    """Doubles, then keeps what is positive."""
    x = rlx.tensor(shape=["N", 3], dtype="float32")
    y = doubled(x)
    return {"kept": rlx.relu(y), "all": y}


def test_a_function_becomes_the_module_that_its_text_says() -> None:
    text = """@rlx.module
def doubled(x: rlx.tensor(shape=["N", 3], dtype="float32")):
    return x * 2.0
"""
    assert program_digest(doubled.ir) == program_digest(parse(text))
    assert doubled.ir == parse(text)


def test_a_call_runs_the_module_for_each_size() -> None:
    for size in (1, 4):
        x = np.linspace(-1, 1, 3 * size, dtype=np.float32).reshape(size, 3)
        results = net(x)
        assert np.array_equal(results["kept"], np.maximum(2 * x, 0))
        assert np.array_equal(results["all"], 2 * x)
        assert np.array_equal(doubled(x=x), 2 * x)
    assert "kernel" in net.explain()


def test_modules_call_modules_that_stand_above() -> None:
    assert [module.name for module in net.ir.modules()] == ["doubled", "net"]


def test_a_saved_module_reads_back_as_itself(tmp_path: Path) -> None:
    saved = net.save(tmp_path / "net.rlx")
    assert program_digest(parse(saved.read_text())) == program_digest(net.ir)


def test_an_error_points_into_this_file_at_its_line_and_column() -> None:
    with pytest.raises(VerifyError) as raised:

        @rlx.module
        def wrong():
            x = rlx.tensor(shape=[2, 3], dtype="float32")
            return rlx.rleu(x)

    error = raised.value
    assert error.at is not None
    line = HERE.read_text().splitlines()[error.at.line - 1]
    assert error.at.file == str(HERE)
    assert line[error.at.column - 1 : error.at.end_column - 1] == "rlx.rleu"
    assert "return rlx.rleu(x)\n" in str(error)
    assert "^^^^^^^^" in str(error)


def test_a_module_that_is_not_there_is_named() -> None:
    with pytest.raises(TextError, match=r"E021.*did you mean 'doubled'"):

        @rlx.module
        def wrong():
            x = rlx.tensor(shape=[2, 3], dtype="float32")
            return double(x)  # noqa: F821


def test_weights_come_from_the_folder_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(TextError, match="E042"):

        @rlx.module
        def wrong():
            w = rlx.constant(file="nowhere.safetensors", key="w")
            return rlx.relu(w)


def test_a_function_without_a_file_is_refused() -> None:
    scope: dict[str, object] = {"rlx": rlx}
    with pytest.raises(TextError, match="E024"):
        exec("@rlx.module\ndef f():\n    return 1\n", scope)


@pytest.mark.parametrize(
    ("arrays", "named", "says"),
    [
        ((), {}, "input x is missing"),
        ((1, 2), {}, "2 inputs are given by position"),
        ((1,), {"x": 1}, "input x is given twice"),
        ((np.ones((2, 4), np.float32),), {}, "shape"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(arrays: tuple, named: dict, says: str) -> None:
    with pytest.raises(RequestError, match=says):
        doubled(*arrays, **named)


def test_names_of_the_language_say_where_they_belong() -> None:
    x = np.ones(3, np.float32)
    for use in (lambda: rlx.relu(x), lambda: rlx.constant(value=1), lambda: rlx.tensor(shape=[1]).shape):
        with pytest.raises(RlxError, match="E023"):
            use()
    with pytest.raises(AttributeError, match="no attribute 'rleu'"):
        rlx.rleu  # noqa: B018
    assert {"jit", "conv2d", "tensor"} <= set(dir(rlx))


def test_what_is_public_can_be_imported() -> None:
    for name in rlx.__all__:
        assert getattr(rlx, name) is not None
