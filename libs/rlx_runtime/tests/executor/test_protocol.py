"""Messages survive the socket, and so do errors; memory is shared by descriptor."""

import mmap
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlx_base.errors import ArtifactError, RequestError, RlxError
from rlx_runtime.executor.protocol import (
    Cancel,
    Channel,
    Done,
    Drop,
    Failed,
    Hello,
    Load,
    Map,
    Message,
    Run,
    Started,
    Unload,
)
from rlx_runtime.executor.segment import Segment, layout
from rlx_wire.abi import ALIGNMENT
from rlx_wire.manifest import KernelSpec, Manifest, NativeSegment, TensorSpec

numbers = st.integers(0, 2**62)
texts = st.text(max_size=50)
messages = st.one_of(
    st.builds(Load, numbers, texts, texts),
    st.builds(Unload, numbers, texts),
    st.builds(Map, numbers, numbers),
    st.builds(Drop, numbers),
    st.builds(Run, numbers, texts, numbers, st.lists(numbers, max_size=4), st.booleans()),
    st.builds(Cancel, numbers),
    st.builds(Hello, numbers),
    st.builds(Started, numbers),
    st.builds(Done, numbers, numbers, numbers),
    st.builds(Failed, numbers, texts, st.dictionaries(texts, texts, max_size=3), st.none() | texts),
)


@given(st.lists(messages, min_size=1, max_size=10))
def test_messages_arrive_as_they_were_sent(sent: list[Message]) -> None:
    one, two = map(Channel, Channel.pair())
    for message in sent:
        one.send(message)
    one.close()
    received = []
    while (answer := two.receive()) is not None:
        received.append(answer)
    two.close()
    assert received == [(message, None) for message in sent]


def test_memory_goes_over_by_descriptor() -> None:
    one, two = map(Channel, Channel.pair())
    ours = Segment.create(100)
    one.send(Map(1, ours.size), ours.descriptor)
    answer = two.receive()
    assert answer is not None
    message, descriptor = answer
    assert message == Map(1, mmap.PAGESIZE)
    assert descriptor is not None
    assert not os.get_inheritable(descriptor)
    theirs = Segment(descriptor, ours.size)
    places = layout(manifest("float32", (5,)), (), 0)
    ours.array(places.inputs[0])[:] = np.arange(5)
    assert theirs.array(places.inputs[0]).tolist() == [0, 1, 2, 3, 4]
    for end in (ours, theirs, one, two):
        end.close()


def test_sending_to_one_that_is_gone_is_an_error_and_no_signal() -> None:
    one, two = map(Channel, Channel.pair())
    two.close()
    with pytest.raises(OSError):
        one.send(Started(1))
    assert one.receive() is None
    one.close()


@pytest.mark.parametrize(
    "error",
    [
        ArtifactError("E304", name="weights.bin", expected="5 bytes", found="3 bytes"),
        ArtifactError("E309", name="lib.so", why="the linker refused it", caused_by="wrong ELF class"),
        RequestError("E425", model="net"),
    ],
)
def test_an_error_of_the_process_is_the_same_error_here(error: RlxError) -> None:
    again = Failed.of(3, error).error()
    assert type(again) is type(error)
    assert str(again) == str(error)


def test_a_fault_becomes_an_internal_error_that_keeps_its_words() -> None:
    error = Failed.of(3, ZeroDivisionError("by zero")).error()
    assert (error.code, error.message) == ("RLX-E900", "internal error: ZeroDivisionError: by zero")


def manifest(dtype: str, *shapes: tuple[int | str, ...]) -> Manifest:
    dims = tuple(dict.fromkeys(size for shape in shapes for size in shape if isinstance(size, str)))
    tensors = tuple(TensorSpec(name=f"t{n}", dtype=dtype, shape=shape) for n, shape in enumerate(shapes))
    return Manifest(
        compiler_version="0",
        target="c",
        cpu="x86-64",
        cpu_features=(),
        opt_level=0,
        program_digest="0" * 64,
        meaning_digest="0" * 64,
        model="m",
        inputs=tensors,
        outputs=tensors,
        dims=dims,
        workspace_bytes=0,
        weights_bytes=0,
        kernels=(KernelSpec(name="k", ops=(), flops=0, bytes=0),),
        launch_plan=(NativeSegment(kernels=(0, 1)),),
    )


@given(
    st.lists(st.lists(st.integers(0, 9) | st.just("n"), max_size=3).map(tuple), max_size=4),
    st.sampled_from(["float32", "bool", "float64"]),
    st.integers(0, 9),
    st.integers(0, 500),
)
def test_tensors_lie_aligned_and_apart(shapes: list[tuple[int | str, ...]], dtype: str, n: int, trace: int) -> None:
    described = manifest(dtype, *shapes)
    places = layout(described, tuple(n for _ in described.dims), trace)
    end = 0
    for place in (*places.inputs, *places.outputs):
        assert place.offset % ALIGNMENT == 0
        assert place.offset >= end
        end = place.offset + place.bytes
    assert places.trace % ALIGNMENT == 0
    assert places.trace >= end
    assert places.size == places.trace + trace
