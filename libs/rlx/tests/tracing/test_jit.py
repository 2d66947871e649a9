"""`rlx.jit`: traced once for each kind of arguments, compiled, run here."""

from __future__ import annotations

from collections import namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rlx
from rlx_base.errors import CompileError, VerifyError
from rlx_ir.text import parse, print_module


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RLX_CACHE_DIR", str(tmp_path / "cache"))


X = np.arange(6, dtype=np.float32).reshape(2, 3) - 2


@pytest.mark.parametrize("target", ["llvm", "c"])
def test_a_call_gives_what_the_function_gives(target: str) -> None:
    def layer(x: Any, w: Any, b: Any) -> Any:
        return np.tanh(np.maximum(x @ w + b, 0))

    w, b = np.ones((3, 4), np.float32) / 3, np.float32(0.5)
    compiled = rlx.jit(target=target)(layer)
    result = compiled(X, w, b)
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, layer(X, w, b), rtol=1e-6)
    np.testing.assert_allclose(compiled(X * 2, b=b, w=w), layer(X * 2, w, b), rtol=1e-6)


def test_the_function_runs_once_for_each_shape_dtype_and_plain_value() -> None:
    seen = []

    @rlx.jit
    def scaled(x: Any, by: float = 2.0) -> Any:
        seen.append((x.shape, x.dtype.name, by))
        return x * by

    for _ in range(2):
        for array in (X, X[:1], X.astype(np.float64)):
            assert np.array_equal(scaled(array), array * 2)
        assert np.array_equal(scaled(X, 3.0), X * 3)
    assert seen == [
        ((2, 3), "float32", 2.0),
        ((1, 3), "float32", 2.0),
        ((2, 3), "float64", 2.0),
        ((2, 3), "float32", 3.0),
    ]


def test_arrays_in_lists_tuples_and_dicts_are_traced_and_results_keep_their_shape() -> None:
    Pair = namedtuple("Pair", ["low", "high"])

    @rlx.jit
    def bounds(params: dict[str, Any], items: list[Any]) -> Any:
        total = params["w"] * items[0] + items[1]
        return {"pair": Pair(total.min(), total.max()), "same": [items[0], items[0]], "name": "n", "wide": total[None]}

    found = bounds({"w": X}, [X, np.float32(1)])
    expected = X * X + 1
    assert found["pair"] == Pair(expected.min(), expected.max())
    assert type(found["pair"].low) is np.float32
    assert np.array_equal(found["same"][1], X)
    assert found["name"] == "n"
    assert found["wide"].shape == (1, 2, 3)
    assert [value.name for value in bounds.ir.inputs] == ["params_w", "items0", "items1"]


def test_the_module_is_shown_and_is_a_text_of_the_language() -> None:
    @rlx.jit
    def scaled(x: Any) -> Any:
        return x * 2

    with pytest.raises(CompileError, match="E223"):
        scaled.ir  # noqa: B018
    module = scaled.trace(X)
    assert parse(print_module(module)) == module
    assert scaled.ir is module
    assert "kernel" in scaled.explain()
    assert "scaled" in repr(scaled)


def test_the_path_leads_to_the_line_of_the_user() -> None:
    @rlx.jit
    def wrong(x: Any) -> Any:
        y = x + 1
        return y @ np.ones((4, 4), np.float32)

    with pytest.raises(VerifyError) as raised:
        wrong(X)
    assert "        return y @ np.ones((4, 4), np.float32)\n" in str(raised.value)
    assert "^" * len("y @ np.ones((4, 4), np.float32)") in str(raised.value)


@rlx.module
def positive():
    x = rlx.tensor(shape=[2, 3], dtype="float32")
    return rlx.relu(x)


def test_jitted_functions_and_modules_become_part_of_one_another() -> None:
    @rlx.jit
    def double(x: Any) -> Any:
        return x * 2

    @rlx.jit
    def both(x: Any) -> Any:
        return positive(double(x)) + positive(x=x)

    assert np.array_equal(both(X), np.maximum(X, 0) * 3)
    assert {module.name for module in both.ir.modules()} == {"both", "positive"}


def test_arguments_and_values_that_cannot_be_kept_are_refused() -> None:
    kept: list[Any] = []

    @rlx.jit
    def keeps(x: Any, other: Any = None) -> Any:
        kept.append(x)
        return x + kept[0]

    keeps.trace(X)
    with pytest.raises(CompileError, match=r"E222.*another traced function"):
        keeps.trace(X[:1])
    with pytest.raises(CompileError, match=r"E222.*argument of type set"):
        keeps(X, {1})
    with pytest.raises(CompileError, match=r"E222.*complex64"):
        keeps(X.astype(np.complex64))


def test_a_jitted_function_compiles_to_a_bundle(tmp_path: Path) -> None:
    @rlx.jit
    def scaled(x: Any) -> Any:
        return x * 2

    scaled.trace(X)
    rlx.compile(scaled, output=tmp_path / "bundle")
    assert np.array_equal(rlx.load(tmp_path / "bundle").run({"x": X})["output"], X * 2)
