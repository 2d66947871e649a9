"""Timings add up, versions are numbers, and a device is named as a hint names it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from rlx_wire.inference import InferRequest, Timings
from rlx_wire.nodes import Addresses, Capabilities, Device, NodeRecord, NodeRegistration, NodeStatus

NS = st.integers(0, 10**15)


@given(NS, NS, NS, NS, NS)
def test_the_parts_of_the_time_sum_to_the_total(total: int, queue: int, before: int, run: int, after: int) -> None:
    t = Timings.within(total, queue_ns=queue, compute_input_ns=before, compute_ns=run, compute_output_ns=after)
    assert t.queue_ns + t.transfer_ns + t.compute_input_ns + t.compute_ns + t.compute_output_ns == t.total_ns
    assert t.total_ns >= total


def test_a_version_is_a_number_however_it_is_written() -> None:
    ask = {"model": "m", "inputs": {}}
    assert InferRequest.model_validate({**ask, "version": 3}).version == "3"
    assert InferRequest.model_validate({**ask, "version": "3"}).version == "3"
    for wrong in ("latest", -1, True, 1.5):
        with pytest.raises(ValidationError):
            InferRequest.model_validate({**ask, "version": wrong})


def test_an_unknown_member_of_a_request_is_refused() -> None:
    with pytest.raises(ValidationError, match="modle"):
        InferRequest.model_validate({"model": "m", "modle": "m", "inputs": {}})


def record(**changes: object) -> NodeRecord:
    known = {
        "id": "a",
        "incarnation": 1,
        "addresses": Addresses(http="http://a"),
        "capabilities": Capabilities(cpu="x86-64-v3"),
    }
    return NodeRecord.model_validate(known | changes)


def test_a_node_runs_requests_only_with_a_device_that_runs_something() -> None:
    cpu = Device(kind="cpu", index=0, name="a CPU", targets=("c", "llvm"))
    seen_only = Device(kind="opencl", index=1, name="a GPU")
    assert cpu.id == "cpu:0"
    assert seen_only.id == "opencl:1"
    assert record(devices=(cpu,)).runs
    assert not record(devices=(seen_only,)).runs
    assert not record().runs
    assert not record(devices=(cpu,), left=True).runs
    assert not record(devices=(cpu,), status=NodeStatus(incarnation=1, sequence=1, draining=True)).runs


@pytest.mark.parametrize("name", ["", "-a", "a/b", "a b", "a" * 65, "ü"])
def test_a_node_id_is_fit_for_a_path_and_a_key(name: str) -> None:
    with pytest.raises(ValidationError):
        NodeRegistration(id=name, addresses=Addresses(http="http://a"), capabilities=Capabilities(cpu="x86-64-v3"))
