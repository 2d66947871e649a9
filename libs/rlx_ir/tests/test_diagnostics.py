"""Each refusal has a code, a place and a line that says what to do."""

from __future__ import annotations

import pytest

import rlx_ir
from rlx_base.dtypes import FLOAT32
from rlx_base.error_table import TABLE
from rlx_base.errors import RlxError
from rlx_ir import Limits, parse
from rlx_ir.text.lexing import check

X = 'x = rlx.tensor(shape=[2, 3], dtype="float32")'
IMAGE = 'x = rlx.tensor(shape=[1, 2, 8, 8], dtype="float32")'
WEIGHT = 'w = rlx.constant(value=np.zeros([4, 2, 3, 3], dtype=np.float32), layout="HWIO")'


def inside(*statements: str) -> str:
    body = "\n    ".join(statements)
    return f"@rlx.module\ndef main():\n    {body}\n"


def refused(text: str, **arguments: object) -> RlxError:
    with pytest.raises(RlxError) as caught:
        parse(text, **arguments)  # type: ignore[arg-type]
    error = caught.value
    assert error.at is not None, error
    assert error.help
    return error


def pointed(text: str) -> tuple[str, str]:
    """The code, and what the caret points at."""
    error = refused(text)
    assert error.at is not None
    line = text.splitlines()[error.at.line - 1]
    return error.code.removeprefix("RLX-"), line[error.at.column - 1 : error.at.end_column - 1]


CASES: list[tuple[str, str, str]] = [
    # what the language is not
    ("E005", "import", "import os\n"),
    ("E005", "lambda", inside(X, "y = lambda: x", "return y")),
    ("E005", "if", inside(X, "if x:", "    return x")),
    ("E005", "\\", "x = \\\n 1"),
    ("E005", ";", inside(X + "; y = x", "return y")),
    ("E003", "ｌ", inside("ｌ = 1", "return l")),
    ("E003", "\u202e", inside(X + "  # \u202e", "return x")),
    ("E003", "а", inside("а = 1", "return a")),
    ("E004", '"', inside('x = "abc', "return x")),
    ("E004", 'f"', inside('x = f"{y}"', "return x")),
    ("E004", "1x", inside("y = 1x", "return y")),
    ("E004", "(", inside("y = (1", "return y")),
    ("E004", ")", inside("y = 1)", "return y")),
    ("E004", "\\q", inside('y = "\\q"', "return y")),
    ("E006", "=", inside("y = =", "return y")),
    ("E007", "__class__", inside(X, "return x.__class__")),
    ("E007", "rlx", inside("rlx = 1", "return rlx")),
    ("E010", "def inner(): return x", inside(X, "def inner(): return x", "return x")),
    ("E010", "rlx.relu(x)", inside(X, "rlx.relu(x)", "return x")),
    ("E010", "*x", inside(X, "return rlx.max(*x)")),
    ("E010", "x", inside(X, "return rlx.relu(**x)")),
    ("E010", "x.real", inside(X, "return x.real")),
    ("E010", "x.tobytes", inside(X, "return x.tobytes()")),
    ("E010", "np.sin", inside(X, "return np.sin(x)")),
    ("E010", "x // 2", inside(X, "return x // 2")),
    ("E010", "0 < x < 1", inside(X, "return 0 < x < 1")),
    ("E010", "x += 1", inside(X, "x += 1", "return x")),
    ("E010", "y.z", inside(X, "y.z = x", "return x")),
    ("E010", "rlx.jitt", "@rlx.jitt\ndef main():\n    return x\n"),
    ("E010", "rlx.call", inside(X, "return rlx.call(x)")),
    ("E010", 'rlx.tensor(shape=[1], dtype="int8")', inside('return rlx.tensor(shape=[1], dtype="int8")')),
    ("E010", "(y := 1)"[1:-1], inside(X, "return (y := 1)")),
    # what comes later
    ("E011", "with", inside(X, "with rlx.pipeline():", "    return x")),
    ("E011", 'rlx.parallelize(dim="batch")', f'@rlx.parallelize(dim="batch")\n{inside(X, "return x")}'),
    ("E011", "rlx.loop", inside(X, "return rlx.loop(x)")),
    ("E011", "rlx.stage_boundary()", inside(X, "rlx.stage_boundary()", "return x")),
    ("E011", '"bfloat16"', inside('x = rlx.constant(value=1.0, dtype="bfloat16")', "return x")),
    # modules
    ("E012", "x = 1", "x = 1\n"),
    ("E012", "def main():", "def main():\n    return 1\n"),
    ("E013", "def main():", f"{inside(X, 'return x')}{inside(X, 'return x')}"),
    ("E014", "def main():", inside(X, "y = x")),
    ("E014", "y = x", inside(X, "return x", "y = x")),
    ("E014", "return", inside(X, "return")),
    ("E015", "y", inside(X, "return y")),
    ("E015", "main", inside(X, "return main")),
    ("E018", "y", "@rlx.module\ndef main(y):\n    return y\n"),
    ("E010", "1", "@rlx.module\ndef main(y: rlx.scalar(dtype='bool') = 1):\n    return y\n"),
    ("E019", "a", "@rlx.module\ndef a(x: rlx.scalar(dtype='int8')):\n    return a(x)\n"),
    ("E007", "main", f"@rlx.module\ndef a(x: rlx.scalar(dtype='int8')):\n    return main()\n{inside(X, 'return x')}"),
    (
        "E021",
        "blck",
        f"@rlx.module\ndef block(x: rlx.scalar(dtype='int8')):\n    return x\n{inside(X, 'return blck(x)')}",
    ),
    (
        "E017",
        "block",
        f"@rlx.module\ndef block(x: rlx.scalar(dtype='int8')):\n    return x\n{inside(X, 'return block()')}",
    ),
    (
        "E109",
        "block",
        f"@rlx.module\ndef block(x: rlx.scalar(dtype='int8')):\n    return x\n{inside(X, 'return block(x)')}",
    ),
    # declarations
    ("E016", "shap=[1]", inside('x = rlx.tensor(shap=[1], dtype="int8")', "return x")),
    ("E016", '"float32"', inside('x = rlx.scalar("int8", None, None, None, "float32")', "return x")),
    ("E017", "rlx.tensor", inside("x = rlx.tensor(shape=[1])", "return x")),
    ("E018", "-1", inside('x = rlx.tensor(shape=[-1], dtype="int8")', "return x")),
    ("E018", '"float3"', inside('x = rlx.tensor(shape=[1], dtype="float3")', "return x")),
    ("E022", "[1099511627776, 512]", inside('x = rlx.tensor(shape=[1099511627776, 512], dtype="int8")', "return x")),
    ("E120", '"NHWQ"', inside('x = rlx.tensor(shape=[1, 2, 8, 8], dtype="int8", layout="NHWQ")', "return x")),
    ("E121", '"DDRX"', inside('x = rlx.scalar(dtype="int8", location="DDRX")', "return x")),
    (
        "E121",
        '"32"',
        inside('x = rlx.scalar(dtype="int8", memory_affinity={"location": "DDR", "bandwidth": "32"})', "return x"),
    ),
    # ops
    ("E101", "rlx.rellu", inside(X, "return rlx.rellu(x)")),
    ("E102", "axs=1", inside(X, "return rlx.softmax(x, axs=1)")),
    ("E103", "1.5", inside(X, "return rlx.softmax(x, axis=1.5)")),
    ("E104", "rlx.top_k", inside(X, "return rlx.top_k(x)")),
    ("E105", "x", inside(X, "x = rlx.relu(x)", "return x")),
    ("E106", "rlx.top_k", inside(X, "y = rlx.top_k(x, k=1)", "return y")),
    ("E106", "rlx.top_k(x, k=1)", inside(X, "return rlx.relu(rlx.top_k(x, k=1))")),
    ("E110", "rlx.softmax", inside(X, "return rlx.softmax(x, axis=7)")),
    ("E110", "y / y", inside(X, 'y = x.astype("int32")', "return y / y")),
    ("E111", "rlx.matmul", inside(X, "return rlx.matmul(x)")),
    ("E112", "x", inside(X, "return rlx.relu(x, x)")),
    ("E112", "x=x", inside(X, "return rlx.relu(x, x=x)")),
    ("E018", "2 + 3", inside(X, "return 2 + 3")),
    ("E018", "x[2]"[2:3], inside(X, "return x[2]")),
    ("E018", "x[0, 0, 0]", inside(X, "return x[0, 0, 0]")),
    ("E032", "2.5", inside(X, 'return x.astype("int8") + 2.5')),
    ("E021", "x", inside(X, "return rlx.cond(x, x, x)")),
    ("E018", "x.max()", inside(X, "return rlx.cond(x, x.max(), x)")),
    ("E018", '"NHWC"', inside(X, 'return rlx.top_k(x, k=1, layout="NHWC")')),
    ("E010", "rlx.module(x)", inside(X, "return rlx.module(x)")),
    ("E010", "(a, b)", inside(X, "(a, b), c = x, x", "return x")),
    ("E106", "rlx.relu", inside(X, "a, b = rlx.relu(x)", "return a")),
    ("E010", "x.T", inside(X, "return x.T")),
    ("E016", "out=1", inside(X, "return x.reshape(6, out=1)")),
    ("E010", "x.flatten", inside(X, "return x.flatten()")),
    ("E018", "1.5", inside(X, "return x[1.5]")),
    ("E018", "0", inside(X, "return x[::0]")),
    ("E018", "[1, 2]", inside(X, "y = [1, 2]", "return y")),
    ("E018", "rlx", inside(X, "return rlx.reshape(x, shape=[rlx, 6])")),
    ("E018", "18446744073709551616", inside(X, "return rlx.softmax(x, axis=18446744073709551616)")),
    ("E007", '""', inside(X, 'return {"": x}')),
    ("E018", '"a"', inside(X, 'return {"a": x, "a": x}')),
    ("E018", "x", inside(X, "return {**x}")),
    ("E014", "return {}", inside(X, "return {}")),
    ("E010", "rlx", "@rlx.module\ndef main() -> rlx:\n    return x\n"),
    ("E007", "def rlx():", "@rlx.module\ndef rlx():\n    return x\n"),
    ("E010", "rlx.module()", "@rlx.module()\ndef main():\n    return x\n"),
    ("E010", "args", "@rlx.module\ndef main(*args):\n    return x\n"),
    (
        "E018",
        '"DDR"',
        inside('x = rlx.scalar(dtype="int8", memory_affinity={"location": "HBM"}, location="DDR")', "return x"),
    ),
    (
        "E121",
        '"size"',
        inside('x = rlx.scalar(dtype="int8", memory_affinity={"location": "HBM", "size": "1GB"})', "return x"),
    ),
    ("E018", "5", inside('x = rlx.scalar(dtype="int8", memory_affinity=5)', "return x")),
    # schedules
    ("E113", '"outptu"', inside(IMAGE, 'return rlx.relu(x, tile_layout={"outptu": [1]})')),
    ("E113", '"Q"', inside(IMAGE, 'return rlx.relu(x, tile_layout={"output": {"Q": 4}})')),
    ("E113", "9", inside(IMAGE, 'return rlx.relu(x, tile_layout={"output": {"H": 9}})')),
    ("E113", "0", inside(IMAGE, 'return rlx.relu(x, tile_layout={"output": {"H": 0}})')),
    ("E113", "[1, 2]", inside(IMAGE, 'return rlx.relu(x, tile_layout={"output": [1, 2]})')),
    ("E113", "5", inside(IMAGE, WEIGHT, 'return rlx.conv2d(x, w, tile_layout={"weight": [3, 3, 2, 5]})')),
    (
        "E114",
        '["batch", "hight"]',
        inside(IMAGE, 'return rlx.relu(x, compute_schedule={"parallel_dims": ["batch", "hight"]})'),
    ),
    ("E114", '{"width": 0}', inside(IMAGE, 'return rlx.relu(x, compute_schedule={"unroll": {"width": 0}})')),
    ("E115", "0", inside(IMAGE, 'return rlx.relu(x, memory_coalesce={"width": 0})')),
    ("E115", '"row"', inside(IMAGE, 'return rlx.relu(x, memory_coalesce={"width": 64, "dim": "row"})')),
    ("E016", '"widht"', inside(IMAGE, 'return rlx.relu(x, memory_coalesce={"widht": 64})')),
    (
        "E113",
        "[1, 1, 1, 1]",
        inside(
            'x = rlx.tensor(shape=[1, 2, 8, 8], dtype="float32", layout="OIHW2o")',
            'return rlx.relu(x, tile_layout={"x": [1, 1, 1, 1]})',
        ),
    ),
    ("E114", "0", inside(IMAGE, 'return rlx.relu(x, compute_schedule={"pipeline_depth": 0})')),
    ("E114", '["width", "width"]', inside(IMAGE, 'return rlx.relu(x, compute_schedule={"order": ["width", "width"]})')),
    ("E017", "{}", inside(IMAGE, "return rlx.relu(x, memory_coalesce={})")),
    # constants
    ("E018", "1.0", inside('x = rlx.constant(file="w", key="w", value=1.0)', "return x")),
    ("E017", "rlx.constant", inside("x = rlx.constant(seed=1)", "return x")),
    ("E018", "-1", inside("x = rlx.constant(value=np.random.randn(2), seed=-1)", "return x")),
    ("E018", "-1", inside("x = rlx.constant(value=np.zeros([-1]))", "return x")),
    ("E018", "0", inside("x = rlx.constant(value=np.linspace(0, 1, endpoint=0))", "return x")),
    ("E018", "np.ones([2])", inside("x = rlx.constant(value=np.linspace(0, np.ones([2])))", "return x")),
    ("E018", "True", inside("x = rlx.constant(value=np.linspace(True, 2))", "return x")),
    ("E018", '"a"', inside('x = rlx.constant(value="a")', "return x")),
    ("E030", "np.ones([2]).sum", inside("x = rlx.constant(value=np.ones([2]).sum())", "return x")),
    ("E016", "order=1", inside("x = rlx.constant(value=np.ones([2]).reshape(2, order=1))", "return x")),
    ("E016", "size=2", inside("x = rlx.constant(value=np.random.randn(size=2))", "return x")),
    ("E017", "np.ones([2]).astype", inside("x = rlx.constant(value=np.ones([2]).astype())", "return x")),
    ("E016", "dtype=np.int8", inside("x = rlx.constant(value=np.zeros([2], np.int8, dtype=np.int8))", "return x")),
    ("E030", "np.sin", inside("x = rlx.constant(value=np.sin(1))", "return x")),
    ("E030", "np.random.shuffle", inside("x = rlx.constant(value=np.random.shuffle(1))", "return x")),
    (
        "E031",
        "np.zeros([1000, 1000, 1000])",
        inside("x = rlx.constant(value=np.zeros([1000, 1000, 1000]))", "return x"),
    ),
    ("E032", "np.arange(0, 1, 0)", inside("x = rlx.constant(value=np.arange(0, 1, 0))", "return x")),
    ("E032", "[[1], [2, 3]]", inside("x = rlx.constant(value=[[1], [2, 3]])", "return x")),
    ("E032", "9 ** 99", inside("x = rlx.constant(value=9 ** 99)", "return x")),
    ("E040", '"w.safetensors"', inside('x = rlx.constant(file="w.safetensors", key="w")', "return x")),
    ("E041", '"../w.safetensors"', inside('x = rlx.constant(file="../w.safetensors", key="w")', "return x")),
    ("E017", "rlx.constant", inside('x = rlx.constant(file="w.safetensors")', "return x")),
    ("E018", "1", inside("x = rlx.constant(value=[1, 2], seed=1)", "return x")),
    ("E018", "[3]", inside("x = rlx.constant(value=[1, 2], shape=[3])", "return x")),
]


@pytest.mark.parametrize(("code", "at", "text"), CASES)
def test_a_refusal_points_at_what_is_wrong(code: str, at: str, text: str) -> None:
    assert pointed(text) == (code, at)


def test_a_tile_that_is_too_large_is_shown_with_its_limit() -> None:
    text = inside(
        'input = rlx.tensor(shape=[1, 3, 224, 224], dtype="float32")',
        "weight = rlx.constant(value=np.zeros([64, 3, 7, 7], dtype=np.float32))",
        "return rlx.conv2d(",
        "    input=input, weight=weight,",
        '    tile_layout={"output": {"C": 96, "H": 8, "W": 8}},',
        ")",
    )
    assert refused(text, file="models/resnet18.rlx").render(text) == "\n".join(
        [
            "models/resnet18.rlx:7:38: error[RLX-E113]: conv2d: tile_layout.output has C=96, but output_channel is 64",
            '    7 |         tile_layout={"output": {"C": 96, "H": 8, "W": 8}},',
            "      |                                      ^^ at most 64",
            "   help: legal here: output {N: 1..1, C: 1..64, H: 1..218, W: 1..218}; "
            "`rlx analyze --model models/resnet18.rlx --tiles` lists those of each op of a program that is legal",
        ]
    )


def test_a_second_assignment_names_the_first() -> None:
    assert "in line 3" in refused(inside(X, "x = rlx.relu(x)", "return x")).message


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (inside(X, "return rlx.rellu(x)"), "did you mean 'relu'"),
        (inside(X, "return rlx.softmax(x, axs=1)"), "did you mean 'axis'"),
        (inside("image = rlx.scalar(dtype='int8')", "return imag"), "did you mean 'image'"),
        (inside(IMAGE, 'return rlx.relu(x, compute_schedule={"order": ["hight"]})'), "did you mean 'height'"),
        (inside("x = rlx.constant(value=np.zero([3]))", "return x"), "did you mean 'np.zeros'"),
    ],
)
def test_the_nearest_known_name_is_suggested(text: str, hint: str) -> None:
    assert hint in refused(text).message


def test_columns_count_characters_and_not_bytes() -> None:
    assert pointed(inside(X, 'return {"Ωé": y}')) == ("E015", "y")


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(RlxError, match="UTF-8") as caught:
        parse(b"# fine\n\xff\n")
    assert caught.value.at is not None
    assert caught.value.at.line == 2
    assert parse(b"\xef\xbb\xbf" + inside(X, "return x").replace("\n", "\r\n").encode()) == parse(inside(X, "return x"))


@pytest.mark.parametrize(
    ("limits", "text", "what"),
    [
        (Limits(bytes=10), "# 4567890\n#", "bytes"),
        (Limits(lines=3), "\n\n\n\n", "lines"),
        (Limits(tokens=3), "a b c d", "tokens"),
        (Limits(characters_per_name=3), "abcd", "name"),
        (Limits(characters_per_number=3), "1234", "number"),
        (Limits(characters_per_string=3), '"12345"', "text"),
    ],
)
def test_every_bound_is_held_before_python_parses(limits: Limits, text: str, what: str) -> None:
    with pytest.raises(RlxError) as caught:
        check(text, "f", limits)
    assert caught.value.code == "RLX-E001"
    assert what in caught.value.message


@pytest.mark.parametrize(
    "nested",
    [
        "(" * 200 + ")" * 200,
        "[" * 200,
        "-" * 5000 + "1",
        "+".join("x" * 3000),
        "**".join("x" * 300),
        "x" + ".a" * 300,
        "x" + "()" * 300,
        "x" + "[0]" * 300,
        "{1:" * 200,
        "a(b=" * 150,
    ],
)
def test_nesting_is_bounded_in_every_form(nested: str) -> None:
    assert refused(inside(f"y = {nested}", "return y")).code == "RLX-E002"


def test_long_flat_lists_are_not_nested() -> None:
    numbers = ", ".join(["-1.5"] * 20_000)
    built = parse(inside(f"x = rlx.constant(value=[{numbers}])", "return x"))
    assert built.constants[0].type.shape == (20_000,)


def test_calls_that_multiply_are_bounded() -> None:
    text = "@rlx.module\ndef m0(x: rlx.scalar(dtype='int8')):\n    return rlx.neg(rlx.neg(x))\n"
    for i in range(1, 21):
        call = f"m{i - 1}(m{i - 1}(x))"
        text += f"@rlx.module\ndef m{i}(x: rlx.scalar(dtype='int8')):\n    return {call}\n"
    assert refused(text).code == "RLX-E020"


def test_chains_of_calls_are_bounded() -> None:
    text = "@rlx.module\ndef m0(x: rlx.scalar(dtype='int8')):\n    return rlx.neg(x)\n"
    forward = backward = text
    for i in range(1, 60):
        step = f"@rlx.module\ndef m{i}(x: rlx.scalar(dtype='int8')):\n    return m{i - 1}(x)\n"
        forward, backward = forward + step, step + backward
    assert refused(forward).code == refused(backward).code == "RLX-E002"


def test_a_name_that_no_text_can_hold_is_refused_by_the_printer() -> None:
    builder = rlx_ir.ModuleBuilder("m")
    builder.output("output", builder.input("a b", rlx_ir.TensorType((1,), FLOAT32)))
    with pytest.raises(RlxError) as caught:
        rlx_ir.print_module(builder.build())
    assert caught.value.code == "RLX-E124"


def test_every_code_of_the_text_is_tried_here_or_with_the_files() -> None:
    here = {code for code, _, _ in CASES} | {"E001", "E002", "E020"}
    files = {"E042", "E043", "E044", "E050", "E051", "E052"}
    # These two are met where a Python function becomes a module; the tests of `rlx` try them.
    python = {"E023", "E024"}
    assert {code for code in TABLE if code.startswith("E0")} - python == {c for c in here if c.startswith("E0")} | files
