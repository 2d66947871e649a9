"""The NumPy functions that a constant may call: their parameters, what shape and dtype they give, and their evaluation.

Shape and dtype follow from the arguments alone, so a constant of 10⁹ elements is refused before anything is allocated.
Random functions draw from NumPy's legacy `RandomState`, whose streams are frozen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rlx_base.dtypes import DTYPES, DType

__all__ = ["FUNCTIONS", "Argument", "Arguments", "Function", "Parameter", "Static", "fits", "numpy_dtype"]

Number: TypeAlias = bool | int | float
Argument: TypeAlias = Number | str | tuple[int, ...] | None
Arguments: TypeAlias = Mapping[str, Any]
Kind: TypeAlias = Literal["shape", "sizes", "int", "number", "dtype", "bool"]


@dataclass(frozen=True, slots=True)
class Static:
    """What is known of an expression without evaluating it."""

    shape: tuple[int, ...]
    dtype: DType

    @property
    def count(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class Parameter:
    """`sizes` collects all positional arguments, as in `randn(64, 3)`."""

    name: str
    kind: Kind
    default: Argument = None
    required: bool = False


@dataclass(frozen=True, slots=True)
class Function:
    """A row of the table. `infer` raises ValueError, in words for the user, where the arguments make no sense."""

    name: str
    parameters: tuple[Parameter, ...]
    infer: Callable[[Arguments], Static]
    evaluate: Callable[[Arguments, np.random.RandomState], Any]
    random: bool = False


def numpy_dtype(name: str) -> np.dtype[np.generic]:
    """How NumPy holds a dtype. Raises ValueError where it cannot."""
    dtype = DTYPES[name].numpy
    if dtype is None:
        raise ValueError(f"constants of {name} cannot be computed here")
    return dtype


def _default_dtype(*values: Any) -> str:
    """What NumPy makes of Python numbers. Raises ValueError for whole numbers beyond int64."""
    if any(type(value) is int and not -(1 << 63) <= value < 1 << 63 for value in values):
        raise ValueError("whole numbers beyond int64 need a dtype")
    if any(type(value) is float for value in values):
        return "float64"
    return "bool" if all(type(value) is bool for value in values) else "int64"


def _filled(a: Arguments) -> Static:
    return Static(a["shape"], DTYPES[a["dtype"]])


def _full(a: Arguments) -> Static:
    value = a["fill_value"]
    dtype = DTYPES[a["dtype"] or _default_dtype(value)]
    if dtype.is_integer and not fits(value, dtype):
        raise ValueError(f"{value} does not fit {dtype}")
    return Static(a["shape"], dtype)


def fits(value: Number, dtype: DType) -> bool:
    """Whether an integer type holds a number (a fraction is cut off)."""
    info = np.iinfo(dtype.name)
    return math.isfinite(value) and info.min <= math.trunc(value) <= info.max


def _integers(a: Arguments, name: str, least: int) -> int:
    value = int(a[name])
    if value < least:
        raise ValueError(f"{name} is at least {least}, not {value}")
    return value


def _arange(a: Arguments) -> Static:
    if a["step"] == 0:
        raise ValueError("step is not 0")
    default = _default_dtype(a["start"], a["stop"], a["step"], 0)
    steps = (a["stop"] - a["start"]) / a["step"]
    if not math.isfinite(steps):
        raise ValueError("start, stop and step are finite")
    dtype = DTYPES[a["dtype"] or default]
    if not (dtype.is_integer or dtype.is_float):
        raise ValueError("the dtype is an integer or a float")
    return Static((max(0, math.ceil(steps)),), dtype)


def _linspace(a: Arguments) -> Static:
    return Static((_integers(a, "num", 0),), DTYPES[a["dtype"] or "float64"])


def _eye(a: Arguments) -> Static:
    rows = _integers(a, "N", 0)
    columns = rows if a["M"] is None else _integers(a, "M", 0)
    if abs(a["k"]) > 1 << 40:
        raise ValueError("k is the number of a diagonal")
    return Static((rows, columns), DTYPES[a["dtype"]])


def _drawn(name: str) -> Callable[[Arguments], Static]:
    def infer(a: Arguments) -> Static:
        if a.get("scale", 0) < 0:
            raise ValueError("scale is not negative")
        if not all(math.isfinite(value) for value in a.values() if isinstance(value, float)):
            raise ValueError("its arguments are finite")
        return Static(a[name] or (), DTYPES["float64"])

    return infer


def _randint(a: Arguments) -> Static:
    dtype = DTYPES[a["dtype"]]
    if not dtype.is_integer:
        raise ValueError("the dtype is an integer")
    low, high = (0, a["low"]) if a["high"] is None else (a["low"], a["high"])
    info = np.iinfo(dtype.name)
    if not info.min <= low < high <= info.max + 1:
        raise ValueError(f"low < high, both within {dtype}")
    return Static(a["size"] or (), dtype)


def _shape(name: str = "shape", *, required: bool = False) -> Parameter:
    return Parameter(name, "shape", None, required)


def _dtype(default: str | None = None) -> Parameter:
    return Parameter("dtype", "dtype", default)


def _numpy(a: Arguments) -> np.dtype[np.generic]:
    return numpy_dtype(a["dtype"])


def _evaluate_arange(a: Arguments, _: np.random.RandomState) -> NDArray[Any]:
    return np.arange(a["start"], a["stop"], a["step"], dtype=_numpy(a) if a["dtype"] else None)


def _evaluate_linspace(a: Arguments, _: np.random.RandomState) -> NDArray[Any]:
    dtype = numpy_dtype(a["dtype"] or "float64")
    return np.linspace(a["start"], a["stop"], a["num"], endpoint=a["endpoint"], dtype=dtype)


def _evaluate_full(a: Arguments, _: np.random.RandomState) -> NDArray[Any]:
    return np.full(a["shape"], a["fill_value"], _numpy(a) if a["dtype"] else None)


_NUMBERS: Final = (Parameter("start", "number", required=True), Parameter("stop", "number", required=True))

FUNCTIONS: Final[dict[str, Function]] = {
    function.name: function
    for function in (
        Function(
            "np.zeros",
            (_shape(required=True), _dtype("float64")),
            _filled,
            lambda a, _: np.zeros(a["shape"], _numpy(a)),
        ),
        Function(
            "np.ones",
            (_shape(required=True), _dtype("float64")),
            _filled,
            lambda a, _: np.ones(a["shape"], _numpy(a)),
        ),
        Function(
            "np.full",
            (_shape(required=True), Parameter("fill_value", "number", required=True), _dtype()),
            _full,
            _evaluate_full,
        ),
        Function("np.arange", (*_NUMBERS, Parameter("step", "number", 1), _dtype()), _arange, _evaluate_arange),
        Function(
            "np.linspace",
            (*_NUMBERS, Parameter("num", "int", 50), Parameter("endpoint", "bool", True), _dtype()),
            _linspace,
            _evaluate_linspace,
        ),
        Function(
            "np.eye",
            (Parameter("N", "int", required=True), Parameter("M", "int"), Parameter("k", "int", 0), _dtype("float64")),
            _eye,
            lambda a, _: np.eye(a["N"], a["M"], a["k"], dtype=_numpy(a)),
        ),
        Function(
            "np.random.randn",
            (Parameter("size", "sizes", ()),),
            _drawn("size"),
            lambda a, random: random.randn(*a["size"]),
            random=True,
        ),
        Function(
            "np.random.rand",
            (Parameter("size", "sizes", ()),),
            _drawn("size"),
            lambda a, random: random.rand(*a["size"]),
            random=True,
        ),
        Function(
            "np.random.randint",
            (
                Parameter("low", "int", required=True),
                Parameter("high", "int"),
                _shape("size"),
                # NumPy's own default is the C long of the platform; here it is the same everywhere.
                _dtype("int64"),
            ),
            _randint,
            lambda a, random: np.asarray(random.randint(a["low"], a["high"], a["size"], dtype=a["dtype"])),
            random=True,
        ),
        Function(
            "np.random.normal",
            (Parameter("loc", "number", 0.0), Parameter("scale", "number", 1.0), _shape("size")),
            _drawn("size"),
            lambda a, random: random.normal(a["loc"], a["scale"], a["size"]),
            random=True,
        ),
        Function(
            "np.random.uniform",
            (Parameter("low", "number", 0.0), Parameter("high", "number", 1.0), _shape("size")),
            _drawn("size"),
            lambda a, random: random.uniform(a["low"], a["high"], a["size"]),
            random=True,
        ),
    )
}
