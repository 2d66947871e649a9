"""How near the emitters come to the processor's peak on one register tile.

A tile of 6 rows by 4 vectors is summed over k, all data in the first-level cache, beside a loop that does nothing but
independent multiply-adds in registers: the peak of this core in this very run. Prints both and their ratio, the best of
several runs, for each target: `.venv/bin/python -m benchmarks.register_tile`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from libs.rlx_compiler.tests.native import Native, load, number, program_of
from rlx_base.dtypes import FLOAT32, INDEX
from rlx_compiler.loops.ir import (
    Accumulator,
    Apply,
    Assign,
    Broadcast,
    Buffer,
    Element,
    Expr,
    Fma,
    For,
    Kernel,
    Let,
    Load,
    Stmt,
    Store,
    Var,
)
from rlx_compiler.options import CompileOptions
from rlx_compiler.targets import resolve, target_names

ROWS, VECTORS, DEPTH, REPEAT = 6, 4, 64, 2_000


def index(*terms: tuple[Expr, int] | int) -> Expr:
    """A sum of variable · factor and constants."""
    total: Expr = number(0)
    for term in terms:
        part = number(term) if isinstance(term, int) else Apply("mul", (term[0], number(term[1])), INDEX)
        total = Apply("add", (total, part), INDEX)
    return total


def tile(lanes: int) -> Kernel:
    """c += a · b, `REPEAT` times; a is packed (k, row), b (k, column)."""
    width = VECTORS * lanes
    a, b = Buffer("a", FLOAT32, (DEPTH, ROWS)), Buffer("b", FLOAT32, (DEPTH, width))
    c = Buffer("c", FLOAT32, (ROWS, width), access="write")
    k = Var("k")
    places = [(row, vector) for row in range(ROWS) for vector in range(VECTORS)]
    element = {place: Element("acc", place, FLOAT32, lanes) for place in places}
    steps: list[Stmt] = [Let(f"b{v}", Load(b, (index((k, width), v * lanes),), lanes)) for v in range(VECTORS)]
    for row in range(ROWS):
        steps.append(Let(f"a{row}", Broadcast(Load(a, (index((k, ROWS), row),)), lanes)))
        for v in range(VECTORS):
            value = Fma(Var(f"a{row}", FLOAT32, lanes), Var(f"b{v}", FLOAT32, lanes), element[row, v])
            steps.append(Assign("acc", (row, v), value))
    again = For("again", number(0), number(REPEAT), (For("k", number(0), number(DEPTH), tuple(steps)),))
    zero = Broadcast(Load(a, (number(0),)), lanes)
    stores = [Store(c, (number(r * width + v * lanes),), element[r, v]) for r, v in places]
    return Kernel("tile", (a, b, c), (Accumulator("acc", FLOAT32, lanes, (ROWS, VECTORS), zero), again, *stores))


def peak(lanes: int) -> Kernel:
    """As many independent sums, of values that stay in registers."""
    count = ROWS * VECTORS
    a, b = Buffer("a", FLOAT32, (DEPTH, ROWS)), Buffer("b", FLOAT32, (DEPTH, VECTORS * lanes))
    c = Buffer("c", FLOAT32, (count, lanes), access="write")
    x, y = Load(a, (number(0),)), Load(b, (number(0),), lanes)
    element = [Element("acc", (i,), FLOAT32, lanes) for i in range(count)]
    factor, term = Var("factor", FLOAT32, lanes), Var("term", FLOAT32, lanes)
    steps = tuple(Assign("acc", (i,), Fma(element[i], factor, term)) for i in range(count))
    body: tuple[Stmt, ...] = (
        Let("factor", Broadcast(x, lanes)),
        Let("term", y),
        Accumulator("acc", FLOAT32, lanes, (count,)),
        # All different, or a compiler would see that one sum is enough.
        *[Assign("acc", (i,), Load(b, (number(i),), lanes)) for i in range(count)],
        For("again", number(0), number(REPEAT * DEPTH), steps),
        *[Store(c, (number(i * lanes),), element[i]) for i in range(count)],
    )
    return Kernel("peak", (a, b, c), body)


def gflops(natives: Sequence[Native], lanes: int, *arrays: np.ndarray[Any, Any]) -> list[float]:
    """Of each, the best of many runs that take turns: what else the machine does then hits all alike."""
    best = [float("inf")] * len(natives)
    for _ in range(15):
        for place, native in enumerate(natives):
            began = time.perf_counter()
            native.run(*arrays)
            best[place] = min(best[place], time.perf_counter() - began)
    return [2.0 * ROWS * VECTORS * lanes * DEPTH * REPEAT / seconds / 1e9 for seconds in best]


def main() -> None:
    for name in target_names():
        lanes = resolve(CompileOptions(name)).spec.lanes(FLOAT32)
        random = np.random.default_rng(0)
        a = random.random((DEPTH, ROWS), np.float32)
        b = random.random((DEPTH, VECTORS * lanes), np.float32) * np.float32(1e-3)
        natives = [load(program_of(kernel), name, opt_level=3) for kernel in (tile(lanes), peak(lanes))]
        reached, highest = gflops(natives, lanes, a, b)
        print(f"{name:<6} tile {reached:6.1f} GFLOP/s, peak {highest:6.1f} GFLOP/s: {reached / highest:.0%}")


if __name__ == "__main__":
    main()
