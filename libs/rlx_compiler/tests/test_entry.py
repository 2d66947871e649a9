"""`rlx_main`: what it refuses, how a team meets, stops and is timed."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from libs.rlx_compiler.tests.native import Native, load, number
from rlx_base.dtypes import INDEX
from rlx_compiler.loops.ir import Apply, Buffer, For, Kernel, Load, Store, Var
from rlx_compiler.loops.program import Argument, Launch, PackedArray, Port, Program
from rlx_wire.abi import RLX_BAD_CALL, RLX_CANCELLED, RLX_OK, Trace

I = Var("i")
SIZE = 64
STEPS = 6


def relay() -> Program:
    """Each kernel adds the weights to its source, read backwards, so it needs what all threads of the last wrote."""
    source, weights = Buffer("source", INDEX, (SIZE,)), Buffer("weights", INDEX, (SIZE,))
    out = Buffer("out", INDEX, (SIZE,), access="write")
    backwards = Apply("sub", (number(SIZE - 1), I), INDEX)
    value = Apply("add", (Load(source, (backwards,)), Load(weights, (I,))), INDEX)
    body = (For("i", number(0), number(SIZE), (Store(out, (I,), value),), kind="parallel"),)
    kernel = Kernel("relay", (source, weights, out), body)
    # A kernel of one thread between those of all.
    alone = Kernel("alone", (source, weights, out), (For("i", number(0), number(SIZE), body[0].body),))
    stops = [Argument("input", 0), *[Argument("workspace", 512 * (i % 2)) for i in range(STEPS - 1)]]
    stops.append(Argument("output", 0))
    launches = tuple(
        Launch(
            f"step{i}", "alone" if i == 2 else "relay", (stops[i], Argument("weights", 64), stops[i + 1]), (), SIZE, 0
        )
        for i in range(STEPS)
    )
    array = PackedArray("w", 64, np.arange(SIZE))
    port = Port("x", INDEX, (SIZE,))
    return Program("relay", (kernel, alone), launches, (port,), (port,), (array,), 64 + 8 * SIZE, 1024)


def relayed(x: np.ndarray) -> np.ndarray:
    for _ in range(STEPS):
        x = x[::-1] + np.arange(SIZE)
    return x


@pytest.fixture(scope="module", params=["llvm", "c"])
def native(request: pytest.FixtureRequest) -> Native:
    return load(relay(), request.param)


@pytest.mark.parametrize(("threads", "spins"), [(1, 0), (2, 0), (2, 100_000), (5, 3)])
def test_a_team_meets_after_each_kernel(native: Native, threads: int, spins: int) -> None:
    for trial in range(20):
        x = np.arange(SIZE) * trial
        (result,) = native.run(x, threads=threads, spins=spins)
        np.testing.assert_array_equal(result, relayed(x))


def test_a_call_of_another_abi_is_refused(native: Native) -> None:
    x, y = np.zeros(SIZE, np.int64), np.zeros(SIZE, np.int64)
    assert native.call([x], [y], abi_version=2) == [RLX_BAD_CALL]
    assert native.call([x], [y], size=8) == [RLX_BAD_CALL]
    assert native.call([x], [y], size=1000) == [RLX_OK]
    assert native.call([x], [y], thread_count=2, barrier=None) == [RLX_BAD_CALL]


@pytest.mark.parametrize("threads", [1, 3])
def test_all_members_agree_that_a_call_is_cancelled(native: Native, threads: int) -> None:
    flag = ctypes.c_int32(1)
    x, y = np.arange(SIZE), np.zeros(SIZE, np.int64)
    for _ in range(20):
        assert native.call([x], [y], threads, cancel=ctypes.addressof(flag)) == [RLX_CANCELLED] * threads
    assert not y.any()
    flag.value = 0
    assert native.call([x], [y], threads, cancel=ctypes.addressof(flag)) == [RLX_OK] * threads


@pytest.mark.parametrize("threads", [1, 2])
def test_a_trace_has_a_row_for_each_kernel_and_thread(native: Native, threads: int) -> None:
    rows = (Trace * (STEPS * threads))()
    clock = ctypes.cast(ctypes.CDLL(None).clock_gettime, ctypes.c_void_p)
    x, y = np.arange(SIZE), np.zeros(SIZE, np.int64)
    native.call([x], [y], threads, clock=clock, trace=ctypes.addressof(rows))
    assert [(row.kernel, row.thread) for row in rows] == [(k, t) for k in range(STEPS) for t in range(threads)]
    assert all(0 < row.start_ns <= row.end_ns for row in rows)
    # No kernel begins before all have ended the one before it.
    for kernel in range(1, STEPS):
        before = max(row.end_ns for row in rows if row.kernel == kernel - 1)
        assert all(row.start_ns >= before for row in rows if row.kernel == kernel)


def test_without_a_clock_there_is_no_trace(native: Native) -> None:
    rows = (Trace * STEPS)()
    x, y = np.arange(SIZE), np.zeros(SIZE, np.int64)
    assert native.call([x], [y], trace=ctypes.addressof(rows)) == [RLX_OK]
    assert not any(row.end_ns for row in rows)
