"""Cases of the elementwise ops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from rlx_base.dtypes import BOOL
from rlx_ir.op import OPS, make
from rlx_ir.testing.case import Case, Dtypes, Strategy, strategy_for
from rlx_ir.testing.tensors import array, broadcastable, choose, shapes

__all__ = ["Values"]

_NUMBERS: Final = ("float", "int", "uint")
_ALL: Final = (*_NUMBERS, "bool")


@dataclass(frozen=True)
class Values:
    """What an elementwise op is given: kinds of dtypes, the range of its floats, and some of its attributes' values."""

    kinds: tuple[str, ...] = ("float",)
    low: float = -4.0
    high: float = 4.0
    special: bool = True
    attributes: tuple[dict[str, Any], ...] = ({},)


_UNARY: Final[dict[str, Values]] = {
    "neg": Values(("float", "int")),
    "abs": Values(_NUMBERS),
    "sign": Values(_NUMBERS),
    "identity": Values(_ALL),
    "reciprocal": Values(low=0.25),
    "exp": Values(),
    "log": Values(low=0.01, high=30.0),
    "sqrt": Values(low=0.0, high=50.0),
    "sin": Values(low=-40.0, high=40.0, special=False),
    "cos": Values(low=-40.0, high=40.0, special=False),
    "tan": Values(low=-1.4, high=1.4, special=False),
    "asin": Values(low=-1.0, high=1.0),
    "acos": Values(low=-1.0, high=1.0),
    "atan": Values(low=-10.0, high=10.0),
    "sinh": Values(),
    "cosh": Values(),
    "asinh": Values(low=-50.0, high=50.0),
    "acosh": Values(low=1.0, high=50.0),
    "atanh": Values(low=-0.99, high=0.99),
    "is_nan": Values(),
    "tanh": Values(low=-10.0, high=10.0),
    "erf": Values(),
    "floor": Values(low=-9.0, high=9.0),
    "ceil": Values(low=-9.0, high=9.0),
    "round": Values(low=-9.0, high=9.0),
    "logical_not": Values(("bool",)),
    "bitwise_not": Values(("int", "uint")),
    "relu": Values(("float", "int")),
    "leaky_relu": Values(attributes=({}, {"alpha": 0.2})),
    "elu": Values(attributes=({}, {"alpha": 0.5})),
    "selu": Values(attributes=({}, {"alpha": 1.5, "gamma": 2.0})),
    "clip": Values(_NUMBERS, attributes=({}, {"min": 0.0, "max": 6.0}, {"min": 1.0}, {"max": 3.0})),
    "sigmoid": Values(low=-12.0, high=12.0),
    "hard_sigmoid": Values(attributes=({}, {"alpha": 0.5, "beta": 0.25})),
    "hard_swish": Values(),
    "silu": Values(special=False),
    "gelu": Values(special=False, attributes=({}, {"approximate": "tanh"})),
    "softplus": Values(low=-20.0, high=20.0),
}
_BINARY: Final[dict[str, Values]] = {
    "add": Values(_NUMBERS),
    "sub": Values(_NUMBERS),
    "mul": Values(_NUMBERS),
    "div": Values(_NUMBERS),
    "mod": Values(_NUMBERS, special=False, attributes=({}, {"fmod": True})),
    "pow": Values(low=0.1, special=False),
    "equal": Values(_ALL),
    "not_equal": Values(_ALL),
    "less": Values(_NUMBERS),
    "less_or_equal": Values(_NUMBERS),
    "greater": Values(_NUMBERS),
    "greater_or_equal": Values(_NUMBERS),
    "logical_and": Values(("bool",)),
    "logical_or": Values(("bool",)),
    "logical_xor": Values(("bool",)),
    "bitwise_and": Values(("int", "uint")),
    "shift_left": Values(("int", "uint"), low=0.0, high=70.0),
    "shift_right": Values(("int", "uint"), low=0.0, high=70.0),
    "bitwise_or": Values(("int", "uint")),
    "bitwise_xor": Values(("int", "uint")),
}
_VARIADIC: Final[dict[str, Values]] = {"min": Values(_NUMBERS), "max": Values(_NUMBERS)}


@strategy_for(*_UNARY, *_BINARY, *_VARIADIC)
def elementwise(name: str) -> Strategy:
    values = (_UNARY | _BINARY | _VARIADIC)[name]

    @st.composite
    def strategy(draw: DrawFn, dtypes: Dtypes) -> Case:
        dtype = choose(draw, dtypes, values.kinds)
        shape = draw(shapes())
        op = make(OPS[name], draw(st.sampled_from(values.attributes)))
        if name in _UNARY:
            each = [shape]
        else:
            count = 2 if name in _BINARY else draw(st.integers(1, 3))
            each = [broadcastable(draw, shape) for _ in range(count)]
            each[draw(st.integers(0, count - 1))] = shape
        return Case(op, tuple(array(draw, s, dtype, values.low, values.high, values.special) for s in each))

    return strategy


@strategy_for("where")
def where(name: str) -> Strategy:
    @st.composite
    def strategy(draw: DrawFn, dtypes: Dtypes) -> Case:
        dtype, shape = choose(draw, dtypes, _ALL), draw(shapes())
        condition, x, y = (broadcastable(draw, shape) for _ in range(3))
        arrays = array(draw, condition, BOOL), array(draw, x, dtype, special=True), array(draw, y, dtype, special=True)
        return Case(make(OPS[name], {}), arrays)

    return strategy


@strategy_for("cast")
def cast(name: str) -> Strategy:
    """Floats within the range of every integer dtype, since what lies outside is unspecified."""

    def strategy(dtypes: Dtypes) -> SearchStrategy[Case]:
        @st.composite
        def drawn(draw: DrawFn) -> Case:
            source, target = choose(draw, dtypes, _ALL), choose(draw, dtypes, _ALL)
            safe = source.is_float and target.is_integer
            low, high = (0.0 if target.kind == "uint" else -100.0, 100.0) if safe else (-4.0, 4.0)
            x = array(draw, draw(shapes()), source, low, high, special=not safe)
            return Case(make(OPS[name], {"to": target}), (x,))

        return drawn()

    return strategy


@strategy_for("bit_cast")
def bit_cast(name: str) -> Strategy:
    @st.composite
    def strategy(draw: DrawFn, dtypes: Dtypes) -> Case:
        source = choose(draw, dtypes, _ALL)
        target = draw(st.sampled_from([dtype for dtype in dtypes if dtype.bits == source.bits]))
        return Case(make(OPS[name], {"to": target}), (array(draw, draw(shapes()), source, special=True),))

    return strategy
