"""The benchmark is a measurement others rely on: peers take turns, and ratios are paired."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from benchmarks.paired import Peer, compare, largest_difference
from benchmarks.peak import Peak

PEER = "onnxruntime"


class Machine:
    """Gets twice as slow in the middle of a measurement, as shared machines do."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def factor(self, name: str) -> float:
        self.calls.append(name)
        return 1.0 if len(self.calls) < 20 else 2.0


class Scripted:
    def __init__(self, name: str, seconds: float, machine: Machine) -> None:
        self.name, self.seconds, self.machine = name, seconds, machine

    def run(self, count: int) -> list[float]:
        return [self.seconds * self.machine.factor(self.name)] * count


def test_peers_take_turns_and_a_slow_minute_falls_on_both() -> None:
    machine = Machine()
    times = compare([Scripted(PEER, 1.0, machine), Scripted("rlx", 3.0, machine)], rounds=20, runs=2)
    rounds = machine.calls[2:]
    assert all(set(rounds[at : at + 2]) == {PEER, "rlx"} for at in range(0, len(rounds), 2))
    assert rounds[::2].count("rlx") not in (0, 20)
    assert times["rlx"].over(times[PEER]) == pytest.approx(3.0)
    assert times["rlx"].minimum == 3.0
    assert len(times["rlx"].runs) == 40


def test_what_is_measured_between_rounds_is_measured_in_each() -> None:
    measured: list[int] = []
    compare([Scripted(PEER, 1.0, Machine())], rounds=7, runs=1, between=lambda: measured.append(1))
    assert len(measured) == 7


def test_a_difference_is_relative_and_nan_is_infinite() -> None:
    reference = {"y": np.array([1.0, -4.0])}
    assert largest_difference({"y": np.array([1.0, -3.0])}, reference) == 0.25
    assert largest_difference({"y": np.array([np.nan, -4.0])}, reference) == np.inf


@pytest.mark.parametrize("threads", [1, 2])
def test_the_peak_is_that_of_the_cores(threads: int, tmp_path: Path) -> None:
    assert 1e9 < Peak(tmp_path).measure(threads) < threads * 1e12


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [3]) for name in "xy"]
    nodes = [helper.make_node("Softmax", ["x"], ["y"])]
    opset = [helper.make_opsetid("", 17)]
    model = helper.make_model(helper.make_graph(nodes, "g", values[:1], values[1:]), opset_imports=opset, ir_version=8)
    onnx.save(model, tmp_path / "graph.onnx")
    np.savez(tmp_path / "inputs.npz", x=np.arange(3, dtype=np.float32))
    return tmp_path / "graph.onnx"


def test_a_peer_answers_from_a_process_of_its_own(graph: Path, tmp_path: Path) -> None:
    with Peer(PEER, PEER, graph, tmp_path / "inputs.npz", tmp_path) as peer:
        assert len(peer.run(3)) == 3
        assert peer.outputs()["y"].sum() == pytest.approx(1.0, abs=1e-5)
        assert peer.load_seconds > 0
    assert peer.process.returncode == 0


def test_a_peer_that_dies_is_named(graph: Path, tmp_path: Path) -> None:
    peer = Peer("broken", PEER, graph, tmp_path / "no-such-file.npz", tmp_path)
    with pytest.raises(RuntimeError, match="broken ended with 1"), peer:
        pass
