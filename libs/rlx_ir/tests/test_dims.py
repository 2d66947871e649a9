"""Dimensions: arithmetic that folds what is known and means the same after binding."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rlx_ir.dims import Dim, Symbol, add, bind, floor_div, is_static, mul, sub, symbols, total

N, H = Symbol("N"), Symbol("H")


def test_constants_merge_so_that_padding_there_and_back_is_nothing() -> None:
    assert sub(add(H, 2), 2) == H
    assert add(2, H) == add(H, 2)
    assert sub(H, H) == 0
    assert mul(1, H) == H
    assert mul(H, 0) == 0
    assert str(floor_div(sub(add(H, 2), 3), 2)) == "((H - 1) // 2)"


def test_a_shape_knows_its_unknowns() -> None:
    size = total((N, 3, add(H, 1)))
    assert symbols(size) == {"N", "H"}
    assert bind(size, {"N": 2, "H": 4}) == 30
    assert bind(size, {"N": 2}) != size
    assert is_static((1, 2))
    assert not is_static((1, N))


@given(st.data(), st.integers(0, 50), st.integers(0, 50))
def test_binding_before_and_after_arithmetic_agree(data: st.DataObject, n: int, h: int) -> None:
    values = {"N": n, "H": h}
    symbolic: Dim = N
    concrete = n
    for _ in range(data.draw(st.integers(1, 6))):
        other: Dim = data.draw(st.one_of(st.integers(0, 9), st.sampled_from([N, H])))
        number = bind(other, values)
        assert isinstance(number, int)
        match data.draw(st.sampled_from("+-*/")):
            case "+":
                symbolic, concrete = add(symbolic, other), concrete + number
            case "-":
                symbolic, concrete = sub(symbolic, other), concrete - number
            case "*":
                symbolic, concrete = mul(symbolic, other), concrete * number
            case _:
                symbolic, concrete = floor_div(symbolic, 3), concrete // 3
    assert bind(symbolic, values) == concrete
