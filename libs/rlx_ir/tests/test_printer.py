"""The canonical text: readable, one way to write each thing, and broken where a line is too long."""

from __future__ import annotations

import numpy as np

from rlx_base.dtypes import FLOAT32
from rlx_ir import ModuleBuilder, TensorType, constant_of, operation, parse, print_module
from rlx_ir.text.print_values import WIDTH, number, quoted


def test_what_is_a_default_is_left_out() -> None:
    text = """\
@rlx.module
def main():
    x = rlx.tensor(shape=[1, 3, 8, 8], dtype="float32")
    y = rlx.softmax(x)
    z = rlx.clip(y, max=6.0)
    return z
"""
    spelt_out = text.replace("softmax(x)", "softmax(x=x, axis=-1, layout=None)").replace("max=6.0", "min=None, max=6")
    assert print_module(parse(spelt_out)) == text


def test_constants_stand_before_their_first_use() -> None:
    text = """\
@rlx.module
def main():
    x = rlx.tensor(shape=[2], dtype="float32")
    a = rlx.constant(value=[1.0, 2.0], dtype="float32")
    y = rlx.add(x, a)
    b = rlx.constant(value=0.1, dtype="float32")
    z = rlx.mul(y, b)
    unused = rlx.constant(value=True)
    return y, z
"""
    assert print_module(parse(text)) == text
    moved = text.replace('    b = rlx.constant(value=0.1, dtype="float32")\n', "").replace(
        "    y =", '    b = rlx.constant(value=0.1, dtype="float32")\n    y ='
    )
    assert print_module(parse(moved)) == text


def test_long_lists_of_numbers_fill_their_lines() -> None:
    builder = ModuleBuilder("main")
    builder.output("output", builder.constant(constant_of("c", np.arange(60, dtype=np.int64))))
    lines = print_module(builder.build()).splitlines()
    assert lines[2:4] == ["    c = rlx.constant(", "        value=["]
    assert lines[4].strip().startswith("0, 1, 2,")
    assert max(map(len, lines)) <= WIDTH
    assert len(lines) < 12


def test_matrices_have_a_line_per_row_where_they_are_long() -> None:
    builder = ModuleBuilder("main")
    builder.output("output", builder.constant(constant_of("c", np.arange(60, dtype=np.int64).reshape(4, 15))))
    text = print_module(builder.build())
    assert "            [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14],\n" in text
    assert parse(text) == builder.build()


def test_called_modules_stand_behind_their_caller() -> None:
    block = ModuleBuilder("block")
    block.output("output", block.add(operation("relu")(), block.input("x", TensorType((2,), FLOAT32))))
    main = ModuleBuilder("model")
    x = main.input("x", TensorType((2,), FLOAT32))
    region = block.build()
    y = main.add(operation("call")(), main.add(operation("call")(), x, regions=(region,)), regions=(region,))
    main.output("output", y)
    text = print_module(main.build())
    assert text.index("def model") < text.index("def block")
    assert text.count("def block") == 1
    assert "call_1 = block(call)" in text
    assert str(main.build()) == text


def test_texts_and_numbers_are_written_so_that_they_are_read_back() -> None:
    assert quoted('a"\\\n\té\u202e\x00🙂') == '"a\\"\\\\\\n\\té\\u202e\\x00🙂"'
    assert quoted("\U000e0001") == '"\\U000e0001"'
    assert [number(value) for value in (1, 1.0, True, None, -0.0, float("nan"), float("-inf"), 1e-5)] == (
        ["1", "1.0", "True", "None", "-0.0", "np.nan", "-np.inf", "1e-05"]
    )
