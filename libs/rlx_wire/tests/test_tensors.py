"""Tensors come out of JSON as they went in, and a wrong one is refused with its name."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from pydantic import ValidationError

from rlx_base.errors import RequestError
from rlx_wire.open_inference import InferInput, InferOutput
from rlx_wire.tensors import DATATYPES, Array, Tensor, array_of, datatype_of, dtype_of

DTYPES = ["bool", "int8", "int64", "uint8", "uint64", "float16", "float32", "float64"]


def arrays(**elements: object) -> st.SearchStrategy[Array]:
    shapes = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5)
    return st.sampled_from(DTYPES).flatmap(lambda d: hnp.arrays(d, shapes, **elements))


@given(arrays())
def test_base64_keeps_every_bit(array: Array) -> None:
    back = Tensor.model_validate_json(Tensor.encode(array).model_dump_json()).array("x")
    assert back.dtype == array.dtype
    assert back.shape == array.shape
    assert back.tobytes() == array.tobytes()


@given(arrays())
def test_a_listed_tensor_keeps_every_value_even_where_json_has_no_number(array: Array) -> None:
    text = Tensor.listed(array).model_dump_json()
    json.loads(text, parse_constant=pytest.fail)  # no NaN or Infinity, which is not JSON
    back = Tensor.model_validate_json(text).array("x")
    np.testing.assert_array_equal(back, array)
    assert back.dtype == array.dtype


@given(arrays(elements={"allow_nan": False, "allow_infinity": False}))
def test_the_protocols_form_keeps_every_value(array: Array) -> None:
    sent = InferOutput.of("y", array, array.dtype.name).model_dump()
    back = InferInput.model_validate(sent).array()
    np.testing.assert_array_equal(back, array)


def test_big_endian_and_strided_arrays_travel_as_little_endian_rows() -> None:
    array = np.arange(6, dtype=">f4").reshape(2, 3).T
    np.testing.assert_array_equal(Tensor.encode(array).array("x"), array)


def test_nested_and_flat_lists_mean_the_same() -> None:
    flat = array_of("x", "int32", (2, 2), [1, 2, 3, 4])
    np.testing.assert_array_equal(array_of("x", "int32", (2, 2), [[1, 2], [3, 4]]), flat)
    assert array_of("x", "float32", (0, 3), []).shape == (0, 3)


@pytest.mark.parametrize(
    ("dtype", "shape", "data"),
    [
        ("float32", (2,), [1.0]),
        ("float32", (2, 2), [[1.0, 2.0, 3.0, 4.0]]),
        ("float32", (2,), [[1.0], [2.0, 3.0]]),
        ("float32", (1,), ["1.0"]),
        ("float32", (1,), [None]),
        ("float32", (1,), [{}]),
        ("int8", (1,), [128]),
        ("uint8", (1,), [-1]),
        ("int64", (1,), [2**63]),
        ("int32", (1,), [1.5]),
        ("bool", (1,), [2]),
        ("float32", (10**12,), [1.0]),
        ("float32", (0, 2**70), []),
        ("float32", (2**62, 4, 0), []),
        ("float32", (1,) * 65, [1.0]),
    ],
)
def test_wrong_elements_are_refused_by_name(dtype: str, shape: tuple[int, ...], data: object) -> None:
    with pytest.raises(RequestError, match=r"RLX-E411.*'x'"):
        array_of("x", dtype, shape, data)


@pytest.mark.parametrize(
    ("dtype", "b64"), [("float32", "AAA"), ("float32", "AAAA"), ("float32", "é"), ("bool", "AgAAAA==")]
)
def test_base64_that_does_not_fit_is_refused_by_name(dtype: str, b64: str) -> None:
    with pytest.raises(RequestError, match=r"RLX-E411.*'x'"):
        Tensor(dtype=dtype, shape=(4,) if dtype == "bool" else (1,), b64=b64).array("x")


@pytest.mark.parametrize(("shape", "b64"), [((2**52, 2**13, 0), ""), ((1,) * 65, "AAAAAA==")])
def test_base64_of_a_shape_that_no_array_has_is_refused_by_name(shape: tuple[int, ...], b64: str) -> None:
    with pytest.raises(RequestError, match=r"RLX-E411.*'x'"):
        Tensor(dtype="float32", shape=shape, b64=b64).array("x")


def test_exactly_one_form_is_given() -> None:
    for forms in ({}, {"data": [1], "b64": "AAAAAA=="}):
        with pytest.raises(ValidationError, match="exactly one"):
            Tensor.model_validate({"dtype": "int32", "shape": [1], **forms})


def test_the_two_tables_of_names_agree() -> None:
    assert all(dtype_of(datatype_of(dtype)) == dtype for dtype in DATATYPES.values())
    for unknown in ("complex64", "FP8"):
        with pytest.raises(RequestError, match="RLX-E410"):
            datatype_of(unknown)
        with pytest.raises(RequestError, match="RLX-E410"):
            dtype_of(unknown)


@pytest.mark.parametrize("dtype", ["bfloat16", "string", "complex64"])
def test_a_dtype_that_numpy_cannot_hold_is_refused(dtype: str) -> None:
    with pytest.raises(RequestError, match="RLX-E410"):
        array_of("x", dtype, (1,), [1])
