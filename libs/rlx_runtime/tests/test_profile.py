"""The profile: kernels last from their first thread's start to their last thread's end."""

import json

import pytest

from rlx_runtime.profile import KernelTiming, Profile, read_trace
from rlx_wire.abi import Trace
from rlx_wire.manifest import KernelSpec


@pytest.fixture
def profile() -> Profile:
    kernels = (
        KernelSpec(name="conv", ops=("conv2d", "relu"), flops=8_000_000, bytes=100),
        KernelSpec(name="never", ops=("add",), flops=1, bytes=1),
        KernelSpec(name="pool", ops=("max_pool",), flops=0, bytes=50),
    )
    run = (
        KernelTiming(0, 0, 1_000_000, 2_000_000),
        KernelTiming(0, 1, 1_500_000, 3_000_000),
        KernelTiming(2, 0, 3_000_000, 4_000_000),
        KernelTiming(2, 1, 3_000_000, 3_500_000),
    )
    return Profile("net", "d" * 64, "llvm", 2, kernels, (run, run))


def test_the_summary_names_the_longest_kernel_first(profile: Profile) -> None:
    conv, pool = profile.summary()
    assert (conv.name, conv.calls, conv.total_ms, conv.gflops) == ("conv", 2, 4.0, 4.0)
    assert (pool.name, pool.calls, pool.total_ms, pool.gflops) == ("pool", 2, 2.0, 0.0)
    assert conv.share == pytest.approx(2 / 3)
    assert conv.share + pool.share == pytest.approx(1)


def test_the_table_says_the_same(profile: Profile) -> None:
    head, conv, pool = profile.table().splitlines()
    assert head.split() == ["kernel", "calls", "total", "ms", "share", "GFLOP/s"]
    assert conv.split() == ["conv", "2", "4.000", "66.7%", "4.0"]
    assert pool.split() == ["pool", "2", "2.000", "33.3%", "0.0"]


def test_the_trace_has_a_row_for_each_thread_and_a_box_for_each_share(profile: Profile) -> None:
    trace = json.loads(profile.to_json())
    names = [(event["tid"], event["args"]["name"]) for event in trace["traceEvents"] if event["ph"] == "M"]
    boxes = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert names == [(0, "thread 0"), (1, "thread 1")]
    assert [(box["name"], box["tid"], box["ts"], box["dur"]) for box in boxes[:4]] == [
        ("conv", 0, 0.0, 1000.0),
        ("conv", 1, 500.0, 1500.0),
        ("pool", 0, 2000.0, 1000.0),
        ("pool", 1, 2000.0, 500.0),
    ]
    assert boxes[0]["args"] == {"run": 0, "ops": ["conv2d", "relu"], "flops": 8_000_000, "bytes": 100, "gflops": 4.0}
    assert trace["otherData"] == {"model": "net", "digest": "d" * 64, "target": "llvm", "threads": 2}


def test_a_profile_without_runs_is_empty_and_no_failure(profile: Profile) -> None:
    empty = Profile("net", "d" * 64, "llvm", 1, profile.kernels, ())
    assert empty.summary() == []
    assert [event["ph"] for event in empty.chrome_trace()["traceEvents"]] == ["M"]


def test_rows_that_the_code_left_empty_are_dropped() -> None:
    rows = (Trace * 3)(Trace(5, 9, 0, 0), Trace(0, 0, 0, 0), Trace(9, 12, 1, 1))
    assert read_trace(bytes(rows)) == (KernelTiming(0, 0, 5, 9), KernelTiming(1, 1, 9, 12))
