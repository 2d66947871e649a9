"""Texts and archives to read: good ones, good ones that were changed, and such as only an attacker writes."""

from __future__ import annotations

import io
import random
import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

from libs.rlx_ir.tests.test_diagnostics import CASES
from rlx_ir import write_rlxz
from rlx_ir.op import OPS, operation

__all__ = ["generate"]

ROOT = Path(__file__).parents[4]

SEEDS = [
    (ROOT / "examples/resnet18_stem/resnet18_stem.rlx").read_text(encoding="utf-8"),
    """
@rlx.module
def main():
    x = rlx.tensor(shape=["N", 3, 8, 8], dtype="float32", layout="NHWC", location="DDR")
    w = rlx.constant(file="w.safetensors", key="w", layout="HWIO")
    b = rlx.constant(file="w.safetensors", key="v")
    y = rlx.relu(rlx.conv2d(x, w, bias=b, padding=[1, 1]))
    pooled = rlx.max_pool(y, kernel=[2, 2], strides=[2, 2])
    return {"features": pooled, "mean": y.mean(axis=(2, 3))}
""",
    """
# a classifier's head
@rlx.module
def main(x: rlx.tensor(shape=[4, 16], dtype="float32"), scale: rlx.scalar(dtype="float32")):
    w = rlx.constant(value=np.random.randn(16, 10).astype(np.float32) * 0.1, seed=3)
    logits = rlx.gemm(x * scale, w)
    values, indices = rlx.top_k(rlx.softmax(logits), k=3)
    return values, indices
""",
    """
@rlx.module
def main():
    x = rlx.tensor(shape=[2, 3, 4], dtype="float32")
    a = (x + 1.5) ** 2 - abs(x) / 3
    b = a[0, 1:, ::-1].transpose()
    c = b.reshape(-1).astype("int32")
    d = c[None, 0:2] % 3
    return d == 1, x[..., -1].sum()
""",
    """
@rlx.module
def block(a: rlx.tensor(shape=[2, 2], dtype="float32"), b: rlx.tensor(shape=[2, 2], dtype="float32")):
    return a @ b

@rlx.module
def other(a: rlx.tensor(shape=[2, 2], dtype="float32"), b: rlx.tensor(shape=[2, 2], dtype="float32")):
    return rlx.max([a, b])

@rlx.module
def main():
    x = rlx.tensor(shape=[2, 2], dtype="float32")
    p = rlx.scalar(dtype="bool")
    y = block(x, b=block(x, x))
    return rlx.cond(p, block, other, args=[x, y])
""",
    """
@rlx.module
def main():
    a = rlx.constant(value=np.arange(24).reshape(2, 3, 4).transpose(2, 0, 1) // 2)
    b = rlx.constant(value=[[0.5, -1e-3], [3, np.inf]], dtype="float16")
    c = rlx.constant(value=(np.linspace(0, 1, 5) - 0.5) * 2 + np.random.uniform(-1, 1, size=[5]))
    d = rlx.constant(value=np.random.randint(0, 9, size=(2, 2)) + np.eye(2))
    return a, b, c, d
""",
    """
@rlx.module
def main():
    x = rlx.tensor(
        shape=[1, 16, 8, 8], dtype="float32", layout="NCHW16c",
        memory_affinity={"location": "HBM", "bandwidth": "1.2TB/s", "latency": "12ns", "coherence": "none"},
    )
    y = rlx.softmax(
        x, axis=1, layout=None,
        tile_layout={"output": {"C": 8, "W": 4}, "x": [1, 4, 2, 8]},
        compute_schedule={
            "parallel_dims": ["batch", "height"], "vectorize_dim": "width", "unroll": {"width": 4},
            "order": ["batch", "height", "width"], "pipeline_depth": 2,
        },
        memory_coalesce={"width": 64, "dim": "width"},
    )
    return y
""",
]

_TOKEN = re.compile(r"[A-Za-z_][A-Za-z_0-9]*|\d+(?:\.\d+)?|\"[^\"\n]*\"|[^\s]")
_WORDS = (
    "import os", "__import__", "__class__", "lambda: 0", "eval", "exec('1')", "open", "while", "rlx", "np", "np.load",
    "rlx.constant", "self", "x", "main", "...", "**x", "*x", "None", "True", "-1", "1e999", "0x7fffffffffffffff",
    "18446744073709551616", "1j", "np.nan", "{}", "[]", "()", "''", '"N"', "@rlx.module", "return", "def f():", "\\",
    "x.__class__", "np.random.randn(10, 10)", "np.zeros([100000, 100000])", "rlx.loop(x)", "with", "if", "await",
)  # fmt: skip
_TRICKS = ("\u202e", "\u200b", "ｘ", "а", "ℝ", "\u2028", "\ufeff", "\x00", "\x0c", "é", "🙂", "\ud7ff", "\u0301")


def _small_change(random: random.Random, text: str) -> str:
    """What an author might change: sizes, names, attributes, comments. Many of these are read as well."""
    for _ in range(random.randint(1, 3)):
        match random.randrange(6):
            case 0:
                text = re.sub(r"\b\d+\b", lambda m: str(random.randint(1, 9)) if random.random() < 0.05 else m[0], text)
            case 1:
                text = re.sub(r"\bx\b", f"x{random.randint(0, 99)}", text)
            case 2:
                text = text.replace("\n", f"\n# {random.choice(_TRICKS[2:4])} a remark\n" if "#" in text else "\n\n", 3)
            case 3:
                text = text.replace("float32", random.choice(("float32", "float64", "float16", "int8")))
            case 4:
                text = text.replace("relu", random.choice(("abs", "neg", "sigmoid", "tanh", "relu", "gelu")))
            case _:
                text = re.sub(r", (layout|location|seed)=(\"\w+\"|\d)", "", text, count=random.randint(0, 2))
    return text


def _tokens_changed(random: random.Random, text: str) -> str:
    """Tokens lost, doubled, swapped or replaced."""
    places = [m.span() for m in _TOKEN.finditer(text)]
    for _ in range(random.randint(1, 3)):
        start, end = random.choice(places)
        other = text[slice(*random.choice(places))]
        pieces = ("", text[start:end] * 2, other, random.choice(_WORDS), random.choice(tuple(OPS)))
        text = text[:start] + random.choice(pieces) + text[end:]
    return text


def _characters_changed(random: random.Random, text: str) -> str:
    for _ in range(random.randint(1, 4)):
        at = random.randrange(len(text))
        text = (
            text[:at] + random.choice((*_TRICKS, chr(random.randrange(1, 0xD800)))) + text[at + random.randint(0, 2) :]
        )
    return text


def _spliced(random: random.Random, text: str) -> str:
    lines, others = text.split("\n"), random.choice(SEEDS).split("\n")
    at = random.randrange(len(lines))
    return "\n".join([*lines[:at], *random.sample(others, random.randint(1, 4)), *lines[at + random.randint(0, 2) :]])


def _inside(*statements: str) -> str:
    return (
        "\n    ".join(("@rlx.module\ndef main():", 'x = rlx.tensor(shape=[2, 3], dtype="float32")', *statements)) + "\n"
    )


def _nested(random: random.Random) -> str:
    """Thousands of operators and brackets inside one another."""
    depth = random.choice((50, 99, 120, 1_000, 20_000))
    forms: tuple[Callable[[], str], ...] = (
        lambda: "(" * depth + "x" + ")" * depth,
        lambda: "-" * depth + "x",
        lambda: "+".join("x" * depth),
        lambda: "**".join("x" * depth),
        lambda: "x" + ".T" * depth,
        lambda: "x" + "[0]" * depth,
        lambda: "[" * depth,
        lambda: "rlx.relu(" * depth + "x" + ")" * depth,
        lambda: "{'a':" * depth,
        lambda: "x<" * depth + "x",
        lambda: "lambda: " * depth + "x",
        lambda: "not " * depth + "x",
        lambda: "x if x else " * depth + "x",
        lambda: "f'{" * depth,
    )
    return _inside(f"y = {random.choice(forms)()}", "return y")


def _blocks(random: random.Random) -> str:
    """Functions, classes and statements inside one another."""
    word = random.choice(("def f():", "class A:", "if x:", "while x:", "with x:", "for x in y:", "try:"))
    return "".join(f"{' ' * i}{word}\n" for i in range(random.choice((10, 90, 150)))) + "x\n"


def _huge(random: random.Random) -> str:
    """Shapes and constants beyond any memory."""
    n = random.choice((10**9, 10**12, 2**40, 2**63 - 1, 2**63, 10**30))
    forms = (
        f'x2 = rlx.tensor(shape=[{n}], dtype="int8")',
        f'x2 = rlx.tensor(shape=[{n}, {n}, {n}], dtype="int8")',
        f"x2 = rlx.constant(value=np.zeros([{n}]))",
        f"x2 = rlx.constant(value=np.ones([{n}, 1]) * np.ones([{n}]))",
        f"x2 = rlx.constant(value=np.random.randn({n}))",
        f"x2 = rlx.constant(value=np.arange({n}))",
        f"x2 = rlx.constant(value=np.linspace(0, 1, {n}))",
        f"x2 = rlx.constant(value=9 ** 9 ** 9 ** {n % 100})",
        f"x2 = rlx.constant(value=1e308 * {n})",
        f"x2 = rlx.expand(x, shape=[{n}, 2, 3])",
        f"x2 = rlx.pad(x, pads=[0, 0, {n}, {n}])",
        f"x2 = x.reshape({n}, -1)",
        f"x2 = rlx.resize(x, size=[{n}, {n}])",
        f"x2 = x[{n}:]",
        f"x2 = rlx.split(x, axis=1, num_outputs={n})",
        f"x2 = rlx.top_k(x, k={n})",
    )
    return _inside(random.choice(forms), "return x2")


def _long(random: random.Random) -> str:
    """Very many of one thing."""
    count = random.choice((100, 5_000, 30_000))
    forms: tuple[Callable[[], str], ...] = (
        lambda: _inside("y = rlx.constant(value=[" + "-1, " * count + "])", "return y"),
        lambda: _inside(*(f"y{i} = x + {i}" for i in range(count)), "return x"),
        lambda: _inside("return {" + ", ".join(f'"o{i}": x' for i in range(count)) + "}"),
        lambda: _inside("return rlx.concat([" + "x, " * count + "], axis=0)"),
        lambda: _inside("y = " + "1" * count, "return y"),
        lambda: _inside("y = " + "a" * count, "return y"),
        lambda: _inside('y = "' + "a" * count + '"', "return y"),
        lambda: _inside(f"y = rlx.relu(x, {', '.join(f'a{i}=1' for i in range(count))})", "return y"),
        lambda: "#" * count * 100,
        lambda: "\n" * count * 3,
        lambda: _inside(f'y = rlx.tensor(shape=[{"1, " * count}], dtype="int8")', "return y"),
    )
    return random.choice(forms)()


def _doubling(random: random.Random) -> str:
    """Modules that call modules that call modules."""
    return _calling(random, random.choice((3, 12, 22, 60)))


def _calling(random: random.Random, count: int) -> str:
    text = "@rlx.module\ndef m0(x: rlx.scalar(dtype='int8')):\n    return rlx.neg(rlx.neg(x))\n"
    for i in range(1, count):
        called = f"m{random.choice((i - 1,) * 60 + (i,))}"
        text += f"@rlx.module\ndef m{i}(x: rlx.scalar(dtype='int8')):\n    return {called}(m{i - 1}(x))\n"
    return text


def _noise(random: random.Random) -> bytes:
    return random.randbytes(random.randint(0, 300))


TEXT = '@rlx.module\ndef main():\n    w = rlx.constant(file="w.safetensors", key="{key}")\n    return w\n'


def _archive(random: random.Random) -> bytes:
    """Archives: whole ones, damaged ones, and bombs."""
    weights = b"\x38\0\0\0\0\0\0\0" + b'{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}  ' + bytes(8)
    good = write_rlxz(TEXT.format(key="w"), {"w.safetensors": weights})
    match random.randrange(6):
        case 0 | 1:
            return good
        case 2:
            damaged = bytearray(good)
            for _ in range(random.randint(1, 3)):
                damaged[random.randrange(len(damaged))] = random.randrange(256)
            return bytes(damaged)
        case 3:
            return good.replace(weights[-8:], b"changed!")
        case 4:
            return good[: random.randrange(len(good))]
        case _:
            bomb = io.BytesIO()
            with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as out:
                for i in range(random.choice((1, 3, 300))):
                    out.writestr(f"w{i}.safetensors", bytes(random.choice((1, 1 << 20, 4 << 20))) if i < 4 else b"")
                out.writestr("model.rlx", TEXT)
            return bomb.getvalue()


# One text for each refusal, so that none is out of reach; the others come by chance.
_FILES = '@rlx.module\ndef main():\n    w = rlx.constant(file="{file}", key="{key}")\n    return w\n'
TARGETED = [
    _calling(random.Random(0), 22),
    *(text for _, _, text in CASES if "file=" not in text),
    "# alone\n" + _FILES.format(file="w.safetensors", key="w"),
    _FILES.format(file="../w.safetensors", key="w"),
    _FILES.format(file="none.safetensors", key="w"),
    _FILES.format(file="bad.safetensors", key="w"),
    _FILES.format(file="w.safetensors", key="u"),
    _FILES.format(file="brain.safetensors", key="b"),
]

_CHANGES = (_small_change,) * 9 + (_tokens_changed,) * 3 + (_characters_changed, _spliced)
_ATTACKS = (_nested, _nested, _blocks, _huge, _huge, _long, _doubling)


def generate(count: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """`count` texts and archives as (kind, content); the same for the same seed."""
    operation("relu")  # registers the ops, whose names are words here
    for number in range(count):
        chance = random.Random(f"{seed}/{number}")
        if number < len(TARGETED):
            yield "t", TARGETED[number].encode()
            continue
        match chance.randrange(20):
            case 0 | 1 | 2:
                yield "t", chance.choice(_ATTACKS)(chance).encode(errors="surrogatepass")
            case 3 | 4:
                yield "z", _archive(chance)
            case 5:
                yield "t", _noise(chance)
            case _:
                text = chance.choice(_CHANGES)(chance, chance.choice(SEEDS))
                yield "t", text.encode(errors="surrogatepass")
