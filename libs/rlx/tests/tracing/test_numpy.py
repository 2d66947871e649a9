"""What NumPy means is what the traced module means: every function against NumPy itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rlx
from rlx.tracing.functions import FUNCTIONS
from rlx.tracing.ufuncs import UFUNCS
from rlx_base.errors import CompileError
from rlx_ir import run

RNG = np.random.RandomState(0)
F = (RNG.rand(2, 3, 4) * 4 - 2).astype(np.float32)
G = (RNG.rand(3, 4) + 0.5).astype(np.float32)
D = RNG.rand(2, 3, 4) + 0.5
I = RNG.randint(-9, 9, (2, 3, 4)).astype(np.int32)
J = RNG.randint(1, 9, (3, 4)).astype(np.int32)
U = RNG.randint(0, 9, (3, 4)).astype(np.uint8)
B = RNG.rand(3, 4) > 0.5
C = RNG.rand(2, 3, 4) > 0.5


def check(function: Callable[..., Any], *arrays: Any) -> None:
    """The interpreter runs the traced module and gives NumPy's values, shape and dtype."""
    module = rlx.jit(function).trace(*arrays)
    results = run(module, dict(zip((value.name for value in module.inputs), arrays, strict=True)))
    with np.errstate(all="ignore"):
        expected = function(*arrays)
    listed = list(expected) if isinstance(expected, list | tuple) else [expected]
    for result, wanted in zip(results.values(), listed, strict=True):
        wanted = np.asarray(wanted)
        assert result.dtype == wanted.dtype
        assert result.shape == wanted.shape
        np.testing.assert_allclose(result, wanted, rtol=2e-5 if wanted.dtype == np.float32 else 1e-10, atol=1e-6)


def _operands(ufunc: np.ufunc) -> list[tuple[Any, ...]]:
    pairs = [(F, G), (F, 2), (1.5, G), (I, J), (I, F), (U, 3), (F, D), (B, C), (U, J), (I, 2.0)]
    ones = [(G,), (D,), (I,), (U,), (B,), (F,)]
    return pairs if ufunc.nin == 2 else ones


def _over(ufunc: np.ufunc, operands: tuple[Any, ...]) -> Callable[..., Any]:
    """The ufunc as a function of those operands that are arrays."""

    def call(*given: Any) -> Any:
        rest = iter(given)
        return ufunc(*(next(rest) if isinstance(one, np.ndarray) else one for one in operands))

    return call


SOME_UFUNCS = [ufunc for ufunc in UFUNCS if ufunc is not np.matmul]


@pytest.mark.parametrize("ufunc", SOME_UFUNCS, ids=lambda ufunc: ufunc.__name__)
def test_elementwise_functions_are_numpys_in_value_and_dtype(ufunc: np.ufunc) -> None:
    tried = 0
    for operands in _operands(ufunc):
        try:
            with np.errstate(all="ignore"):
                expected = ufunc(*operands)
        except (TypeError, ValueError):
            continue
        if ufunc in (np.log, np.log2, np.log10, np.sqrt, np.power) and not np.isfinite(expected).all():
            continue
        if ufunc in (np.power, np.reciprocal) and expected.dtype.kind != "f":
            continue  # RLX has no power or reciprocal of whole numbers
        if expected.dtype == np.float16 or (ufunc in (np.sign,) and operands[0].dtype == np.bool_):
            continue
        if ufunc in (np.floor, np.ceil) and expected.dtype.kind != "f":
            continue
        check(_over(ufunc, operands), *(one for one in operands if isinstance(one, np.ndarray)))
        tried += 1
    assert tried


CASES: dict[str, Callable[..., Any]] = {
    "sum": lambda: check(lambda x: (np.sum(x), x.sum(axis=1), x.sum(axis=(0, 2), keepdims=True)), F),
    "sum of whole numbers": lambda: check(lambda x, y, z: (x.sum(), y.sum(), z.sum(axis=0)), I, U, B),
    "sum in a dtype": lambda: check(lambda x: x.sum(axis=-1, dtype=np.float64), F),
    "prod": lambda: check(lambda x: (np.prod(x), x.prod(axis=1)), G),
    "mean": lambda: check(lambda x, y: (np.mean(x), x.mean(axis=(1, 2)), y.mean(axis=0)), F, I),
    "max": lambda: check(lambda x, y: (np.max(x), x.max(axis=1, keepdims=True), np.amax(y, axis=0)), F, B),
    "min": lambda: check(lambda x: (np.amin(x), x.min(axis=-1)), I),
    "any, all": lambda: check(lambda x, y: (np.any(x), x.all(axis=0), np.all(y), y.any(axis=2)), B, F),
    "var": lambda: check(lambda x: (np.var(x), x.var(axis=1, ddof=1), x.std(axis=(0, 1), keepdims=True)), F),
    "argmax": lambda: check(lambda x, y: (np.argmax(x), x.argmax(axis=1), np.argmin(x, axis=-1), y.argmin()), F, B),
    "reshape": lambda: check(lambda x: (x.reshape(6, 4), x.reshape((-1, 2)), np.reshape(x, -1), x.ravel()), F),
    "transpose": lambda: check(lambda x: (x.T, x.transpose(1, 0, 2), np.transpose(x, (2, 0, 1)), x.flatten()), F),
    "swapaxes": lambda: check(lambda x: (np.swapaxes(x, 0, -1), x.swapaxes(1, 2), np.moveaxis(x, 0, 2)), F),
    "expand_dims": lambda: check(lambda x: (np.expand_dims(x, 1), np.expand_dims(x, (0, -1))), G),
    "squeeze": lambda: check(lambda x: (x[:1].squeeze(), np.squeeze(x[:1], axis=0), x.squeeze()), F),
    "broadcast_to": lambda: check(lambda x: np.broadcast_to(x, (2, 3, 4)) * 1, G),
    "flip": lambda: check(lambda x: (np.flip(x), np.flip(x, axis=1), x[::-2]), F),
    "pad": lambda: check(lambda x: (np.pad(x, 1), np.pad(x, ((0, 1), (2, 0)), constant_values=3)), G),
    "concatenate": lambda: check(lambda x, y: (np.concatenate([x, x]), np.concatenate([x, y], axis=-1)), G, J),
    "concatenate flat": lambda: check(lambda x, y: np.concatenate([x, y], axis=None), F, D),
    "stack": lambda: check(lambda x, y: (np.stack([x, y]), np.stack([x, y, y], axis=-1)), G, G),
    "split": lambda: check(lambda x: (*np.split(x, 2), *np.split(x, [1, 3], axis=2)), F),
    "where": lambda: check(lambda c, x: (np.where(c, x, 0), np.where(x > 1, x, c), np.where(c, 1.5, x)), B, G),
    "clip": lambda: check(lambda x, y: (np.clip(x, -1, 1), x.clip(0.5), y.clip(2, None)), F, I),
    "matmul": lambda: check(lambda x, y: (x @ y.T, np.matmul(y, x[0].T), x[0, 0] @ y.T, np.dot(x, y.T)), F, G),
    "dot": lambda: check(lambda x: (np.dot(x[0], x[1]), x[0].dot(3.0), np.outer(x[0], x[1])), G),
    "round": lambda: check(lambda x, y: (np.round(x), x.round(1), np.round(y)), D, I),
    "like": lambda: check(lambda x: (x + np.zeros_like(x), x * np.ones_like(x)), F),
    "shape": lambda: check(lambda x: x.reshape(np.size(x), 1) * np.ndim(x) + np.shape(x)[0] + len(x), F),
    "index": lambda: check(lambda x: (x[0], x[-1, 1:, ::2], x[..., 1], x[:, None, 2], x[1, 2, 3], x[:, ::-1]), F),
    "iterate": lambda: check(lambda x: sum(row.sum() for row in x), F),
    "astype": lambda: check(lambda x: (x.astype(np.int32), x.astype("float64"), x.astype(bool), x.copy()), F),
    "reduce": lambda: check(lambda x: (np.add.reduce(x), np.maximum.reduce(x, axis=1)), F),
    "square": lambda: check(lambda x, y: (x**2, y**2, x**3.0), G, I),
    "softmax": lambda: check(lambda x: np.exp(x - x.max(-1, keepdims=True)) / np.exp(x).sum(-1)[..., None], F),
}


@pytest.mark.parametrize("name", CASES)
def test_functions_on_arrays_are_numpys(name: str) -> None:
    CASES[name]()


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "if": (lambda x: x if x.sum() > 0 else -x, "E221.*a truth value"),
    "float": (lambda x: x * float(x[0, 0]), r"E221.*float\(\)"),
    "int": (lambda x: x * int(x[0, 0]), r"E221.*int\(\)"),
    "item": (lambda x: x * x[0, 0].item(), "E221.*item"),
    "tolist": (lambda x: x.tolist(), "E221.*tolist"),
    "array": (lambda x: np.asarray(x), "E221.*plain array"),
    "range": (lambda x: list(range(x[0, 0])), "E221.*an index"),
    "assign": (lambda x: x.__setitem__(0, 1), "E222.*in place"),
    "iadd": (lambda x: np.add(x, 1, out=x), "E222.*in place"),
    "unknown function": (lambda x: np.sort(x), "E222.*np.sort"),
    "unknown ufunc": (lambda x: np.arctan(x), "E222.*np.arctan"),
    "accumulate": (lambda x: np.add.accumulate(x), "E222.*np.add.accumulate"),
    "argument": (lambda x: np.sum(x, where=True), "E222.*these arguments"),
    "mask": (lambda x: np.add(x, 1, where=True), "E222.*with where"),
    "index": (lambda x: x[np.array([0, 1])], "E222.*indexing with a ndarray"),
    "complex": (lambda x: x * np.complex64(1j), "E222.*complex64"),
    "pad mode": (lambda x: np.pad(x, 1, mode="wrap"), "E222.*'wrap'"),
    "nothing": (lambda x: 1, "E222.*no traced array"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_traced_is_refused_at_its_line_in_this_file(name: str) -> None:
    function, says = REFUSED[name]
    with pytest.raises(CompileError, match=says) as raised:
        rlx.jit(function).trace(G)
    assert raised.value.at is not None
    assert raised.value.at.file == __file__


@pytest.mark.parametrize("index", [5, (0, 0, 0), -4])
def test_an_index_out_of_bounds_is_an_index_error(index: Any) -> None:
    with pytest.raises(IndexError):
        rlx.jit(lambda x: x[index]).trace(G)


def test_every_function_that_is_known_is_tried_here() -> None:
    with open(__file__, encoding="utf-8") as file:
        text = file.read()
    untried = [f.__name__ for f in FUNCTIONS if f"{f.__name__}(" not in text]
    assert untried == []
