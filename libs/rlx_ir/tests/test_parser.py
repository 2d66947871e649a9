"""What the syntax of a text means: each construct of the language, and the ops that it stands for."""

from __future__ import annotations

import numpy as np
import pytest

import rlx_ir
from rlx_base.dtypes import DTYPES
from rlx_ir import Module, Node, Symbol, TensorType, parse, parse_file
from rlx_ir.interpreter import run
from rlx_ir.op import attributes_of


def module(*statements: str, before: str = "") -> Module:
    body = "\n    ".join(statements)
    return parse(f"{before}\n@rlx.module\ndef main():\n    {body}\n")


X = 'x = rlx.tensor(shape=[2, 3], dtype="float32")'


def ops(module: Module) -> list[str]:
    return [node.op.name for node in module.nodes]


def only(module: Module) -> Node:
    (node,) = module.nodes
    return node


def test_inputs_are_parameters_or_bound_to_names() -> None:
    bound = module(
        'x = rlx.tensor(shape=["N", 3], dtype=np.float32, location="HBM")',
        's = rlx.scalar(dtype="int64")',
        "return x, s",
    )
    as_parameters = parse(
        '@rlx.module\ndef main(\n    x: rlx.tensor(shape=["N", 3], dtype="float32", location="HBM"),\n'
        '    s: rlx.scalar(dtype="int64"),\n):\n    return x, s\n'
    )
    assert bound == as_parameters
    assert bound.tensor("x") == TensorType((Symbol("N"), 3), DTYPES["float32"], None, rlx_ir.MemoryAffinity("HBM"))
    assert bound.tensor("s").shape == ()


def test_outputs_are_one_value_a_tuple_or_a_dict() -> None:
    assert [o.name for o in module(X, "return x").outputs] == ["output"]
    assert [o.name for o in module(X, "return (x,)").outputs] == ["output"]
    assert [o.name for o in module(X, "return x, x").outputs] == ["output0", "output1"]
    assert [o.name for o in module(X, 'return {"a b": x, "Ω": x}').outputs] == ["a b", "Ω"]
    assert [o.name for o in module(X, "return rlx.top_k(x, k=1)").outputs] == ["output0", "output1"]


def test_operands_are_positional_or_named_and_numbers_take_the_dtype_they_meet() -> None:
    node = only(module(X, "return rlx.add(b=x, a=2.5)"))
    assert node.operands[1] == "x"
    built = module(X, "return rlx.where(x > 0, x, 0)")
    assert built.constant[str(built.nodes[-1].operands[2])].type.dtype.name == "float32"
    assert (
        module(X, "return rlx.max([x, x])")
        == module(X, "return rlx.max(x, x)")
        == module(X, "return rlx.max(inputs=[x, x])")
    )
    row = module(X, "return rlx.add(x, [1, 2, 3])")
    assert row.constants[0].array().tolist() == [1.0, 2.0, 3.0]


def test_an_absent_optional_operand_is_none() -> None:
    node = only(
        module('x = rlx.tensor(shape=[1, 2, 4, 4], dtype="float32")', "return rlx.batch_norm(x, None, bias=None)")
    )
    assert node.operands == ("x", None, None, None, None)


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("x + x", ["add"]),
        ("1 - x", ["sub"]),
        ("x * 2", ["mul"]),
        ("x / 2", ["div"]),
        ("x @ y", ["matmul"]),
        ("x ** 2", ["pow"]),
        ("x % 2", ["mod"]),
        ("-x", ["neg"]),
        ("+x", ["identity"]),
        ("abs(x)", ["abs"]),
        ("x == 0", ["equal"]),
        ("x != x", ["not_equal"]),
        ("x < 1", ["less"]),
        ("x <= 1", ["less_or_equal"]),
        ("0 > x", ["greater"]),
        ("x >= 1", ["greater_or_equal"]),
        ("rlx.relu(rlx.add(x, x))", ["add", "relu"]),
        ("x.reshape(3, -1)", ["reshape"]),
        ("x.reshape([6])", ["reshape"]),
        ("x.transpose()", ["transpose"]),
        ("x.transpose(1, 0)", ["transpose"]),
        ('x.astype("int32")', ["cast"]),
        ("x.astype(np.float64)", ["cast"]),
        ("x.sum()", ["reduce_sum"]),
        ("x.mean(axis=1, keepdims=True)", ["reduce_mean"]),
        ("x.max(0)", ["reduce_max"]),
        ("x.min(axis=(0, 1))", ["reduce_min"]),
        ("x[0]", ["slice", "squeeze"]),
        ("x[-1, 1:]", ["slice", "squeeze"]),
        ("x[:, None, ::-1]", ["slice", "unsqueeze"]),
        ("x[..., 0:2]", ["slice"]),
        ("x[:]", ["identity"]),
        ("x[None]", ["unsqueeze"]),
        ("x[1][0:1]", ["slice", "squeeze", "slice"]),
    ],
)
def test_pythons_operators_mean_what_they_mean_in_numpy(expression: str, names: list[str]) -> None:
    built = module(X, 'y = rlx.tensor(shape=[3, 2], dtype="float32")', f"return {expression}")
    assert ops(built) == names
    rng = np.random.default_rng(0)
    x, y = (rng.uniform(0.5, 2, shape).astype(np.float32) for shape in ((2, 3), (3, 2)))
    result = run(built, {"x": x, "y": y})["output"]
    if "rlx." not in expression:
        expected = eval(expression, {"x": x, "y": y, "np": np})
        np.testing.assert_allclose(result, np.asarray(expected), rtol=1e-6)
        assert result.shape == np.shape(expected)
        assert result.dtype == expected.dtype
    assert parse(rlx_ir.print_module(built)) == built


def test_tuple_unpacking_takes_several_results() -> None:
    built = module(X, "values, indices = rlx.top_k(x, k=2)", "return indices, values")
    assert [r.name for r in only(built).results] == ["values", "indices"]


def test_another_name_for_a_value_is_no_new_value() -> None:
    assert module(X, "y = x", "return rlx.relu(y)") == module(X, "return rlx.relu(x)")


def test_names_that_are_made_avoid_those_that_the_text_gives_later() -> None:
    built = module(X, "y = rlx.neg(rlx.add(x, x))", "add = rlx.relu(y)", "return add")
    assert [node.name for node in built.nodes] == ["add_1", "y", "add"]


def test_a_module_calls_another_wherever_it_stands() -> None:
    block = "@rlx.module\ndef block(a: rlx.tensor(shape=[2, 3], dtype='float32')):\n    return rlx.relu(a)\n"
    first = parse(f"@rlx.module\ndef main():\n    {X}\n    return block(a=block(x))\n\n{block}")
    second = parse(f"{block}\n@rlx.module\ndef main():\n    {X}\n    return block(block(x))\n")
    assert first == second
    assert [node.regions[0].name for node in first.nodes] == ["block", "block"]
    assert ops(first) == ["call", "call"]


def test_cond_takes_modules_of_the_file() -> None:
    blocks = "".join(
        f"@rlx.module\ndef {op}_it(a: rlx.tensor(shape=[2, 3], dtype='float32')):\n    return rlx.{op}(a)\n\n"
        for op in ("neg", "relu")
    )
    built = module(X, 'p = rlx.scalar(dtype="bool")', "return rlx.cond(p, neg_it, relu_it, args=[x])", before=blocks)
    x = np.array([[-1, 2, 3], [4, 5, -6]], np.float32)
    assert run(built, {"x": x, "p": np.array(True)})["output"].tolist() == (-x).tolist()
    assert run(built, {"x": x, "p": np.array(False)})["output"].tolist() == np.maximum(x, 0).tolist()


def test_the_entry_is_main_or_the_first() -> None:
    text = "".join(f"@rlx.module\ndef {name}():\n    {X}\n    return x\n\n" for name in ("a", "main", "c"))
    file = parse_file(text)
    assert [module.name for module in file.modules] == ["a", "main", "c"]
    assert file.entry.name == "main"
    assert parse(text.replace("main", "b")).name == "a"


def test_docstrings_and_comments_are_for_people() -> None:
    plain = module(X, "return x")
    assert module('"""Says what it does: Ω."""', X + "  # naïve", "return x", before='"""A file."""') == plain


def test_layout_and_memory_of_a_result_are_declared_with_the_op() -> None:
    built = module(
        'x = rlx.tensor(shape=[1, 2, 4, 4], dtype="float32", layout="NHWC")',
        'y = rlx.relu(x, layout="NCHW4c", memory_affinity={"location": "SRAM", "latency": "12ns"})',
        "z = rlx.neg(y, layout=None)",
        "return z",
    )
    assert str(built.tensor("y").layout) == "NCHW4c"
    assert built.tensor("y").affinity == rlx_ir.MemoryAffinity("SRAM", latency="12ns")
    assert built.tensor("z").layout is None
    assert parse(rlx_ir.print_module(built)) == built


def test_attributes_take_lists_texts_and_dtypes() -> None:
    built = module(
        'x = rlx.tensor(shape=[1, 2, 4, 4], dtype="float32")',
        'return rlx.cast(rlx.pad(x, pads=(1, 1, 0, 2), axes=[-2, -1], mode="edge"), to=np.float64)',
    )
    pad, cast = built.nodes
    assert attributes_of(pad.op) == {"pads": (1, 1, 0, 2), "mode": "edge", "value": 0.0, "axes": (-2, -1)}
    assert attributes_of(cast.op)["to"] == DTYPES["float64"]


def test_spans_say_where_values_stand() -> None:
    built = parse(f"@rlx.module\ndef main():\n    {X}\n    y = rlx.relu(x)\n    return y\n", file="model.rlx")
    span = built.nodes[0].span
    assert span is not None
    assert (span.file, span.line, span.column, span.end_column) == ("model.rlx", 4, 9, 17)
