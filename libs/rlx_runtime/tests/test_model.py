"""A model in process: what it takes, what it gives, and which bundles it refuses."""

import ctypes
import json
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlx_base.errors import ArtifactError, RequestError
from rlx_runtime import check_host, load
from rlx_runtime.native import aligned_empty, is_aligned
from rlx_wire.bundle import read_manifest
from rlx_wire.manifest import HostOpSegment, NativeSegment, TensorSpec


def test_a_run_gives_new_arrays_each_time(bundle, x, y) -> None:
    with load(bundle.directory, threads=1) as model:
        first, second = model.run({"x": x}), model.run({"x": x + 1})
    assert np.array_equal(first["y"], y)
    assert np.array_equal(second["y"], y + 3)
    assert first["y"].flags.writeable
    assert first["y"].flags.c_contiguous
    assert is_aligned(first["y"])


def test_inputs_may_lie_in_memory_as_they_like(bundle, x, y) -> None:
    strided = np.repeat(x, 2)[::2]
    unaligned = np.frombuffer(b"\0" + x.tobytes(), np.float32, offset=1)
    aligned = aligned_empty((8,), np.dtype(np.float32))
    aligned[:] = x
    read_only = x.copy()
    read_only.flags.writeable = False
    with load(bundle.directory, threads=1) as model:
        for given_x in (strided, unaligned, aligned, read_only, x.astype(">f4")):
            assert np.array_equal(model.run({"x": given_x})["y"], y)


@pytest.mark.parametrize(
    ("inputs", "what"),
    [
        ({}, "input x is missing"),
        ({"x": np.zeros(8, np.float32), "z": 1}, "there is no input 'z'"),
        ({"z": 1}, "there is no input 'z'; input x is missing"),
        ({"x": np.zeros(8)}, "input x must be float32, not float64"),
        ({"x": np.zeros(7, np.float32)}, "input x must have shape 8, not 7"),
        ({"x": np.zeros((8, 1), np.float32)}, "input x must have shape 8, not 8 × 1"),
        ({"x": np.float32(1)}, "input x must have shape 8, not scalar"),
        ({"x": ["a"]}, "input x must be float32, not <U1"),
    ],
)
def test_a_wrong_input_is_named_with_what_was_expected(bundle, inputs, what: str) -> None:
    with load(bundle.directory, threads=1) as model, pytest.raises(RequestError) as caught:
        model.run(inputs)
    assert caught.value.code == "RLX-E415"
    assert caught.value.message == f"model 'reverse': {what}"
    assert caught.value.help == "its inputs are x: float32 8"


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("count", [0, 1, 2, 7, 4096])
def test_a_symbolic_dim_takes_the_size_of_its_input(make_bundle, count: int, threads: int) -> None:
    bundle = make_bundle(None)
    x = np.arange(count, dtype=np.float32)
    with load(bundle.directory, threads) as model:
        assert np.array_equal(model.run({"x": x})["y"], 3 * x[::-1])


def test_two_inputs_must_agree_on_a_symbolic_dim(make_bundle) -> None:
    tensors = tuple(TensorSpec(name=name, dtype="float32", shape=("n",)) for name in "ab")
    bundle = make_bundle(None, inputs=tensors)
    with load(bundle.directory, threads=1) as model:
        with pytest.raises(RequestError, match="input b must have shape n=2, not 3"):
            model.run({"a": np.zeros(2, np.float32), "b": np.zeros(3, np.float32)})
        assert model.run({"a": np.ones(3, np.float32), "b": np.zeros(3, np.float32)})["y"].tolist() == [3, 3, 3]


def test_a_run_can_be_cancelled_from_another_thread(bundle, x, y) -> None:
    cell = ctypes.c_int32(0)
    with load(bundle.directory, threads=2) as model:
        timer = threading.Timer(0.02, setattr, (cell, "value", 1))
        timer.start()
        with pytest.raises(RequestError, match="cancelled") as caught:
            model.run({"x": np.full(8, -555, np.float32)}, cancel=cell)
        timer.join()
        assert caught.value.code == "RLX-E425"
        assert np.array_equal(model.run({"x": x})["y"], y)


def test_a_closed_model_runs_no_more(bundle, x) -> None:
    model = load(bundle.directory, threads=1)
    model.close()
    model.close()
    with pytest.raises(RequestError, match="closed"):
        model.run({"x": x})


def mapped(directory: Path) -> bool:
    return str(directory) in Path("/proc/self/maps").read_text()


def test_closing_takes_code_and_weights_out_of_the_process(make_bundle) -> None:
    bundle = make_bundle()
    model = load(bundle.directory, threads=1)
    assert mapped(bundle.directory)
    model.close()
    assert not mapped(bundle.directory)


def test_weights_are_mapped_read_only(make_bundle) -> None:
    bundle = make_bundle()
    with load(bundle.directory, threads=1):
        rows = [row for row in Path("/proc/self/maps").read_text().splitlines() if row.endswith("weights.bin")]
        rows = [row for row in rows if str(bundle.directory) in row]
    assert [row.split()[1][:2] for row in rows] == ["r-"]


# --- bundles that are refused


def refused(bundle, code: str, *words: str) -> None:
    with pytest.raises(ArtifactError, match="artifact rejected: ") as caught:
        load(bundle.directory, threads=1)
    assert caught.value.code == f"RLX-{code}", caught.value
    for word in words:
        assert word in str(caught.value)
    assert not mapped(bundle.directory / "librlx_kernel.so")


def test_a_cpu_without_a_feature_is_refused(make_bundle) -> None:
    bundle = make_bundle(cpu="x86-64-v9", cpu_features=("avx9000", "sse2"))
    refused(bundle, "E306", "expected a CPU with x86-64-v9", "without avx9000", "--cpu x86-64")


def test_another_node_can_be_asked_for(make_bundle) -> None:
    manifest = read_manifest(make_bundle(cpu="x86-64-v3", cpu_features=("avx2",)).directory)
    check_host(manifest, frozenset({"avx2"}))
    with pytest.raises(ArtifactError):
        check_host(manifest, frozenset())


def test_code_of_another_abi_is_refused(make_bundle, x) -> None:
    """Its manifest lies: it says version 1, and the code takes version 2 only."""
    with load(make_bundle(8, "-DABI=2").directory, threads=1) as model, pytest.raises(ArtifactError) as caught:
        model.run({"x": x})
    assert caught.value.message == "artifact rejected: expected ABI version 1, found code that refuses it"


def test_a_changed_library_is_refused_before_it_is_mapped(make_bundle) -> None:
    bundle = make_bundle()
    with (bundle.directory / "librlx_kernel.so").open("ab") as stream:
        stream.write(b"!")
    refused(bundle, "E304", "librlx_kernel.so")


def test_a_library_that_is_none_is_refused_in_the_linkers_words(make_bundle) -> None:
    refused(make_bundle(files={"librlx_kernel.so": b"not ELF"}), "E309", "caused by:", "librlx_kernel.so")


def test_a_library_without_the_entry_is_refused(make_bundle, tmp_path: Path) -> None:
    (tmp_path / "other.c").write_text("int other(void) { return 0; }\n")
    subprocess.run(["gcc", "-shared", "-fPIC", "other.c", "-o", "other.so"], cwd=tmp_path, check=True)
    bundle = make_bundle(files={"librlx_kernel.so": tmp_path / "other.so"})
    refused(bundle, "E309", "exports no rlx_main")


def test_a_bundle_for_another_kind_of_device_is_refused(make_bundle) -> None:
    refused(make_bundle(target="abacus", files={"librlx_kernel.so": None}), "E310", "found target abacus")


def test_a_host_op_that_this_runtime_lacks_is_refused(make_bundle) -> None:
    plan = (HostOpSegment(op="decode_jpeg", index=0), NativeSegment(kernels=(0, 2)))
    refused(make_bundle(launch_plan=plan), "E310", "host op decode_jpeg")


@pytest.mark.parametrize("weights", [None, b"", b"12345"])
def test_weights_of_another_size_are_refused(make_bundle, weights: bytes | None) -> None:
    refused(make_bundle(files={"weights.bin": weights}), "E310", "expected 4 bytes of weights")


# --- profile


@pytest.mark.parametrize("threads", [1, 2])
def test_a_trace_has_a_row_for_each_thread_and_kernel(bundle, x, y, threads: int) -> None:
    with load(bundle.directory, threads) as model:
        run = model.trace({"x": x})
        profile = model.profile({"x": x}, runs=3)
    assert np.array_equal(run.outputs["y"], y)
    (timings,) = run.profile.runs
    assert {(row.kernel, row.thread) for row in timings} == {(k, t) for k in (0, 1) for t in range(threads)}
    assert all(row.start_ns <= row.end_ns for row in timings)
    scale = [row for row in timings if row.kernel == 0]
    reverse = [row for row in timings if row.kernel == 1]
    assert max(row.end_ns for row in scale) <= min(row.start_ns for row in reverse)
    assert [row.calls for row in profile.summary()] == [3, 3]
    assert json.loads(run.profile.to_json())["otherData"]["model"] == "reverse"


@given(st.lists(st.integers(0, 5), max_size=4), st.sampled_from([np.float32, np.int8, np.bool_, np.float64]))
def test_aligned_memory_is_aligned_whatever_its_shape(shape: list[int], dtype: type) -> None:
    array = aligned_empty(shape, np.dtype(dtype))
    assert array.shape == tuple(shape)
    assert array.dtype == dtype
    assert is_aligned(array)
