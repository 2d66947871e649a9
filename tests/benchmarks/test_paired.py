"""The benchmark is a measurement others rely on: peers take turns, ratios are paired, and the graph is the network."""

import argparse
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from benchmarks import onnx_graphs
from benchmarks.paired import REFERENCE, Peer, Row, broken_bounds, compare, flops, largest_difference
from benchmarks.peak import Peak
from examples.efficientnet_lite0 import convert, preprocess
from examples.efficientnet_lite0.photos import PHOTOS


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
    rows = compare([Scripted(REFERENCE, 1.0, machine), Scripted("rlx", 3.0, machine)], rounds=20, runs=2)
    rounds = machine.calls[2:]
    assert all(set(rounds[at : at + 2]) == {REFERENCE, "rlx"} for at in range(0, len(rounds), 2))
    assert rounds[::2].count("rlx") not in (0, 20)
    assert rows[1].ratio == pytest.approx(3.0)
    assert rows[1].minimum == 3.0


def test_a_difference_is_relative_and_nan_is_infinite() -> None:
    reference = {"y": np.array([1.0, -4.0])}
    assert largest_difference({"y": np.array([1.0, -3.0])}, reference) == 0.25
    assert largest_difference({"y": np.array([np.nan, -4.0])}, reference) == np.inf


def test_each_bound_that_is_broken_is_named() -> None:
    bounds = argparse.Namespace(max_ratio=4.0, max_compile=20.0, max_difference=1e-4)
    good = Row("rlx llvm", ratio=3.9, compile_seconds=19.0, difference=1e-5)
    bad = Row("rlx c", ratio=4.1, compile_seconds=21.0, difference=1e-3)
    assert broken_bounds([Row(REFERENCE), good], bounds) == []
    assert len(broken_bounds([Row(REFERENCE), good, bad], bounds)) == 3


def test_the_peak_is_that_of_a_core(tmp_path: Path) -> None:
    assert 1e9 < Peak(tmp_path).measure() < 1e12


def test_the_network_takes_as_many_operations_as_published() -> None:
    assert flops() == pytest.approx(2 * 385e6, rel=0.05)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("graph")
    text = convert.convert(folder=folder)
    onnx.save(onnx_graphs.efficientnet_lite0(text.with_suffix(".safetensors")), folder / "graph.onnx")
    return folder / "graph.onnx"


def test_the_onnx_graph_knows_the_photos(graph: Path) -> None:
    session = onnxruntime.InferenceSession(graph)
    for photo in PHOTOS:
        [probabilities] = session.run(["probabilities"], {"image": preprocess.read_image(photo.path)})
        [(label, probability)] = preprocess.top(probabilities)
        assert label == photo.label
        assert probability == pytest.approx(photo.probability, abs=0.01)


def test_a_peer_answers_from_a_process_of_its_own(graph: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "inputs.npz", image=np.zeros((1, 3, 224, 224), np.float32))
    with Peer(REFERENCE, "onnxruntime", graph, tmp_path / "inputs.npz", tmp_path) as peer:
        assert len(peer.run(3)) == 3
        assert peer.outputs()["probabilities"].sum() == pytest.approx(1.0, abs=1e-5)
    assert peer.process.returncode == 0


def test_a_peer_that_dies_is_named(graph: Path, tmp_path: Path) -> None:
    peer = Peer("broken", "onnxruntime", graph, tmp_path / "no-such-file.npz", tmp_path)
    with pytest.raises(RuntimeError, match="broken ended with 1"), peer:
        pass
