"""Constants: restricted NumPy, known before it is evaluated, and the same on every machine for ever."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlx_base.errors import RlxError
from rlx_ir import Constant, parse, print_module
from rlx_ir.constants import MAX_ELEMENTS, Expression, seed_of
from rlx_ir.identity import array_digest


def constant(arguments: str, name: str = "c") -> Constant:
    module = parse(f"@rlx.module\ndef main():\n    {name} = rlx.constant({arguments})\n    return {name}\n")
    assert parse(print_module(module)) == module
    return module.constants[0]


# NumPy's own meaning; random ones are drawn from the stream that the seed starts.
EXPRESSIONS = [
    "np.zeros([2, 3])",
    "np.zeros(4, dtype=np.int8)",
    "np.ones((2,), np.float32)",
    "np.full([2], 7)",
    "np.full([2], 0.5, dtype=np.float16)",
    "np.full([], True)",
    "np.arange(5)",
    "np.arange(1, 2, 0.3)",
    "np.arange(5, 0, -2)",
    "np.arange(3, 1)",
    "np.arange(0, 3, 0.5).astype(np.int32)",
    "np.linspace(0, 1, 7)",
    "np.linspace(0, 1, num=4, endpoint=False, dtype=np.float32)",
    "np.linspace(-1, 9, 1)",
    "np.eye(3)",
    "np.eye(2, 4, k=1, dtype=np.uint8)",
    "np.array([[1, 2], [3, 4]], dtype=np.float32)",
    "np.array(3) + 1",
    "np.random.randn(2, 3)",
    "np.random.rand(4)",
    "np.random.randint(0, 10, size=(2, 2))",
    "np.random.randint(5, size=3, dtype=np.uint8)",
    "np.random.normal(1.0, 0.5, size=[3])",
    "np.random.uniform(-1, 1, (2, 2))",
    "np.random.randn(2) + np.random.rand(2)",
    "np.random.randn(64, 3).astype(np.float32) * 0.05",
    "-np.arange(4) ** 2 % 3",
    "(-np.arange(4)) ** 2",
    "1 / np.arange(1, 4)",
    "2 - np.ones([2]) - 3",
    "2 - (np.ones([2]) - 3)",
    "np.arange(6).reshape(2, -1).transpose()",
    "np.arange(24).reshape([2, 3, 4]).transpose(2, 0, 1)",
    "np.arange(7) // 2",
    "np.ones([2, 1]) * np.ones([3])",
    "np.ones([2], dtype=np.float32) * 2",
    "np.ones([2], dtype=np.int8) / np.ones([2], dtype=np.int8)",
    "np.ones([2], dtype=np.float32) + np.ones([2], dtype=np.float64)",
    "np.full([2], np.pi) * 2 ** 0.5",
    "np.full([2], -np.inf)",
    "np.array(1.5).reshape([])",
]


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_an_expression_means_what_numpy_means(text: str) -> None:
    read = constant(f"value={text}" + (", seed=7" if "random" in text else ""))
    np.random.seed(7)
    expected = np.asarray(eval(text, {"np": np}))
    assert read.type.shape == expected.shape
    assert str(read.type.dtype) == expected.dtype.name
    np.testing.assert_array_equal(read.array(), expected)
    assert read.array() is read.array()
    assert not read.array().flags.writeable


@pytest.mark.parametrize(
    ("arguments", "dtype", "elements"),
    [
        ("value=3", "int64", 3),
        ("value=2.5", "float64", 2.5),
        ("value=True", "bool", True),
        ("value=-1", "int64", -1),
        ("value=2 ** 10 / 4", "float64", 256.0),
        ('value=[1, 2], dtype="float32"', "float32", [1, 2]),
        ("value=[[1.5, -2]], dtype=np.float16", "float16", [[1.5, -2]]),
        ('value=18446744073709551615, dtype="uint64"', "uint64", (1 << 64) - 1),
        ('value=np.ones([2]), dtype="int32", shape=[2]', "int32", [1, 1]),
        ('value=[], dtype="float32", shape=[0]', "float32", []),
        ('value=[-np.inf, np.inf], dtype="float32"', "float32", [-np.inf, np.inf]),
    ],
)
def test_literals_take_numpys_dtype_or_the_one_given(arguments: str, dtype: str, elements: object) -> None:
    read = constant(arguments)
    assert str(read.type.dtype) == dtype
    assert read.array().tolist() == elements


def test_an_empty_literal_has_the_shape_that_is_given() -> None:
    assert constant('value=[], dtype="float32", shape=[0, 3]').type.shape == (0, 3)


# The stream is frozen: these digests never change, on any platform or NumPy.
GOLDEN = {
    "np.random.randn(64, 3, 7, 7)": "0e10285a134eae915b97f69c2f157871421b6eb2102cf72b06a1e7646821e3af",
    "np.random.rand(1000)": "259544e97f7f01d5c4a8c47496ae7e5430c73647a30835f3f494eaad9c8d20c1",
    "np.random.randint(-5, 1000, size=1000)": "fffc786b0377d48c95593d4f7cfa968a62ffe89641c6fcb3af8deafeba3edef2",
    "np.random.normal(0.5, 2.0, size=1000)": "86e59f187b48b85ef42f988f484d9be7265e1578825e62acd881d43856fbc748",
    "np.random.uniform(-3, 3, size=1000)": "b98097b2ec4bec7d0c542f23de3d367507eee210cf353cd2cae373fd3f40dbfb",
    "np.random.randn(10) + np.random.rand(10)": "8b12402c4aece6c20f52be643b0754277ccf05e100188d900f3f555720bae02e",
}


@pytest.mark.parametrize(("text", "digest"), GOLDEN.items())
def test_random_constants_are_frozen(text: str, digest: str) -> None:
    assert array_digest(constant(f"value={text}", name="weight").array()) == digest


def test_the_seed_is_the_hash_of_module_and_constant() -> None:
    expected = int.from_bytes(hashlib.sha256(b"main/c").digest()[:4], "little")
    data = constant("value=np.random.randn(2)").data
    assert isinstance(data, Expression)
    assert data.seed == seed_of("main", "c") == expected
    np.testing.assert_array_equal(data.array(), np.random.RandomState(expected).randn(2))


def test_each_constant_has_a_stream_of_its_own() -> None:
    module = parse(
        "@rlx.module\ndef main():\n    a = rlx.constant(value=np.random.randn(3))\n"
        "    b = rlx.constant(value=np.random.randn(3))\n    return a, b\n"
    )
    a, b = (constant.array() for constant in module.constants)
    assert not np.array_equal(a, b)
    swapped = parse(
        "@rlx.module\ndef main():\n    b = rlx.constant(value=np.random.randn(3))\n"
        "    a = rlx.constant(value=np.random.randn(3))\n    return a, b\n"
    )
    np.testing.assert_array_equal(swapped.constant["a"].array(), a)


@pytest.mark.parametrize(
    "text",
    [
        "np.zeros([1000000000])",
        "np.zeros([100000, 100000])",
        "np.arange(1e9)",
        "np.linspace(0, 1, 1000000000)",
        "np.eye(100000)",
        "np.random.randn(1000, 1000, 1000)",
        "np.ones([40000, 1]) * np.ones([40000])",
        f"np.zeros([{MAX_ELEMENTS + 1}])",
    ],
)
def test_a_huge_constant_is_refused_without_memory(text: str) -> None:
    with pytest.raises(RlxError) as caught:
        constant(f"value={text}")
    assert caught.value.code == "RLX-E031"


def test_nothing_is_evaluated_before_it_is_needed() -> None:
    read = constant(f"value=np.zeros([{MAX_ELEMENTS}])")
    assert "_evaluated" not in vars(read.data)


@pytest.mark.parametrize(
    "text",
    [
        "np.random.randint(3, 1, size=2)",
        "np.random.randint(0, 300, size=2, dtype=np.uint8)",
        "np.random.normal(0, -1, size=2)",
        "np.arange(2) ** np.arange(2)",
        "np.arange(2) ** -1",
        "np.ones([2]) + np.ones([3])",
        "np.arange(6).reshape(4)",
        "np.arange(6).reshape(-1, -1)",
        "np.arange(6).transpose(1)",
        "np.ones([2], dtype=np.int8) + 300",
        "1 / 0 + np.ones([2])",
        "10.0 ** 400 + np.ones([2])",
        "(-1) ** 0.5 + np.ones([2])",
        "2 ** 63 ** 2 + np.ones([2])",
        "np.array([300], dtype=np.uint8)",
        "np.full([2], 300, dtype=np.uint8)",
        "np.arange(9223372036854775808)",
        "-np.full([2], True)",
    ],
)
def test_what_numpy_would_refuse_is_refused_when_it_is_read(text: str) -> None:
    with pytest.raises(RlxError) as caught:
        constant(f"value={text}")
    assert caught.value.code == "RLX-E032"


def test_a_float_becomes_an_integer_in_one_way_everywhere() -> None:
    read = constant("value=np.array([300.7, -1.5, 1e30, -np.inf, np.nan, 9.3e18]).astype(np.uint8)")
    assert read.array().tolist() == [44, 255, 0, 0, 0, 0]
    wide = constant("value=np.array([-1.0, 9.3e18, 1e30]).astype(np.uint64)")
    assert wide.array().tolist() == [(1 << 64) - 1, 9300000000000000000, 0]


@given(st.lists(st.floats(width=32, allow_nan=False), min_size=1, max_size=5))
def test_a_written_float32_is_read_back_to_the_last_bit(values: list[float]) -> None:
    from rlx_ir import ModuleBuilder

    builder = ModuleBuilder("main")
    builder.output("output", builder.array("c", np.array(values, np.float32)))
    module = builder.build()
    assert parse(print_module(module)) == module


def test_a_large_array_of_a_program_is_not_written_out() -> None:
    from rlx_ir import ModuleBuilder

    builder = ModuleBuilder("main")
    builder.output("output", builder.array("c", np.zeros((300, 300), np.float32)))
    text = print_module(builder.build())
    assert 'c = rlx.constant(value=..., dtype="float32", shape=[300, 300])' in text
    with pytest.raises(RlxError) as caught:
        parse(text)
    assert caught.value.code == "RLX-E018"
