"""The text form of loop IR: every kind of statement and expression, as a person reads it."""

from __future__ import annotations

from rlx_base.dtypes import BOOL, DTYPES, FLOAT32, INDEX, INT32
from rlx_compiler.loops.ir import (
    Accumulator,
    Allocate,
    Apply,
    Assign,
    Barrier,
    Bitcast,
    Broadcast,
    Buffer,
    Cast,
    Element,
    Fma,
    Fold,
    For,
    If,
    Kernel,
    Let,
    Literal,
    Load,
    Ramp,
    Select,
    Size,
    Store,
    Var,
)
from rlx_compiler.loops.text import show, show_expr
from rlx_ir.dims import Symbol

X = Buffer("x", FLOAT32, (Symbol("N"), 32))
OUT = Buffer("out", FLOAT32, (Symbol("N"), 32), access="write")
TILE = Buffer("tile", FLOAT32, (16,), "shared", "update")
ZERO, SIXTEEN = Literal(0, INDEX), Literal(16, INDEX)

EVERYTHING = """\
kernel everything(x: f32[N, 32], write out: f32[N, 32]):
  parallel for n in 0..size(N):
    base = n * 2 - 1
    shared tile: f32[16]
    sum: f32x16[2] = broadcast(0.0)
    for k in 0..16 by 4:
      unroll o in 0..2:
        sum[o] = fma(broadcast(x[n, k]), x[n, o * 16 : 16], sum[o])
    barrier
    if n < 16 and not(is_nan(x[n, 0])):
      out[n, 0 : 16 by 2] (first base) = select(lt(ramp(0, 16), broadcast(3)), sum[0], sum[1])
    else:
      tile[0] = fold_sum(sum[0]) / f32(bits_as_i32(x[n, 0]))
"""


def test_every_statement_reads_as_a_person_would_write_it() -> None:
    n, k, o = Var("n"), Var("k"), Var("o")
    first = Load(X, (n, ZERO))
    body = (
        Let("base", Apply("sub", (Apply("mul", (n, Literal(2, INDEX)), INDEX), Literal(1, INDEX)), INDEX)),
        Allocate(TILE),
        Accumulator("sum", FLOAT32, 16, (2,), Broadcast(Literal(0.0, FLOAT32), 16)),
        For(
            "k",
            ZERO,
            SIXTEEN,
            (
                For(
                    "o",
                    ZERO,
                    Literal(2, INDEX),
                    (
                        Assign(
                            "sum",
                            (o,),
                            Fma(
                                Broadcast(Load(X, (n, k)), 16),
                                Load(X, (n, Apply("mul", (o, SIXTEEN), INDEX)), 16),
                                Element("sum", (o,), FLOAT32, 16),
                            ),
                        ),
                    ),
                    kind="unrolled",
                ),
            ),
            step=4,
        ),
        Barrier(),
        If(
            Apply(
                "and",
                (Apply("lt", (n, SIXTEEN), BOOL), Apply("not", (Apply("is_nan", (first,), BOOL),), BOOL)),
                BOOL,
            ),
            (
                Store(
                    OUT,
                    (n, ZERO),
                    Select(
                        Apply("lt", (Ramp(ZERO, 16), Broadcast(Literal(3, INDEX), 16)), BOOL),
                        Element("sum", (0,), FLOAT32, 16),
                        Element("sum", (1,), FLOAT32, 16),
                    ),
                    2,
                    Var("base"),
                ),
            ),
            (
                Store(
                    TILE,
                    (ZERO,),
                    Apply(
                        "div",
                        (Fold("sum", Element("sum", (0,), FLOAT32, 16)), Cast(Bitcast(first, INT32), FLOAT32)),
                        FLOAT32,
                    ),
                ),
            ),
        ),
    )
    kernel = Kernel("everything", (X, OUT), (For("n", ZERO, Size("N"), body, kind="parallel"),))
    assert show(kernel) == EVERYTHING.replace("lt(ramp(0, 16), broadcast(3))", "ramp(0, 16) < broadcast(3)")
    assert kernel.parallel is kernel.body[0]


def test_parentheses_stand_where_the_meaning_needs_them() -> None:
    a, b = Var("a"), Var("b")
    minus = Apply("sub", (a, Apply("sub", (b, a), INDEX)), INDEX)
    assert show_expr(minus) == "a - (b - a)"
    assert show_expr(Apply("mul", (minus, b), INDEX)) == "(a - (b - a)) * b"
    assert show_expr(Apply("floor_div", (a, Apply("mod", (b, a), INDEX)), INDEX)) == "a // (b % a)"


def test_a_literal_names_its_type_unless_it_is_a_usual_one() -> None:
    assert show_expr(Literal(1.5, FLOAT32)) == "1.5"
    assert show_expr(Literal(7, INDEX)) == "7"
    assert show_expr(Literal(True, BOOL)) == "True"
    assert show_expr(Literal(3, DTYPES["uint8"])) == "u8(3)"
