"""One network beside its peers: compiled cold, run in turns on one thread and on several, compared with float64."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx

from benchmarks.cold_compile import compile_cold
from benchmarks.exact import exact_outputs
from benchmarks.models import Network
from benchmarks.paired import Arrays, Peer, Times, compare, largest_difference
from benchmarks.peak import Peak
from rlx_compiler.onnx import import_onnx

__all__ = ["PEERS", "RLX", "Effort", "NetworkResult", "PeerResult", "ThreadsResult", "measure_network"]

RLX = "rlx"
PEERS = ("onnxruntime", "openvino")


@dataclass(frozen=True)
class Effort:
    """How often: `rounds` in which each peer does `runs`, with so many threads each."""

    rounds: int = 15
    runs: int = 5
    threads: Sequence[int] = (1, 2)


@dataclass(frozen=True)
class PeerResult:
    """`ratio` is RLX's minimum over this peer's, `paired_ratio` the median of the rounds' ratios."""

    minimum_ms: float
    median_ms: float
    load_ms: float
    ratio: float
    paired_ratio: float
    peak_share: float


@dataclass(frozen=True)
class ThreadsResult:
    """`ratio`: RLX over the better of its peers, by minima."""

    peak_gflops: float
    peers: dict[str, PeerResult]

    @property
    def ratio(self) -> float:
        return max(result.ratio for name, result in self.peers.items() if name != RLX)


@dataclass(frozen=True)
class NetworkResult:
    """`errors` are against float64, relative to the largest output; `difference` is RLX's to onnxruntime."""

    name: str
    title: str
    goal: float
    flops: int
    compile_seconds: float
    compile_cpu_seconds: float
    compile_peak_bytes: int
    warm_load_ms: float
    errors: dict[str, float]
    difference: float
    threads: dict[int, ThreadsResult] = field(default_factory=dict)


def measure_network(name: str, network: Network, effort: Effort, peak: Peak) -> NetworkResult:
    """Everything about one network. A network takes some seconds to compile and some to run."""
    with tempfile.TemporaryDirectory(prefix="rlx-bench-") as scratch:
        folder = Path(scratch)
        model, given = network.model(), network.inputs()
        graph, source, inputs = folder / f"{name}.onnx", folder / f"{name}.rlx", folder / "inputs.npz"
        onnx.save(model, graph)
        np.savez(inputs, **given)
        imported = import_onnx(graph)
        imported.write(source)
        if any(own != theirs for theirs, own in imported.inputs.items()):
            raise ValueError(f"{name}: the importer renamed inputs: {dict(imported.inputs)}")
        cold = compile_cold(source, folder / "bundle")
        places = {RLX: cold.bundle, **dict.fromkeys(PEERS, graph)}
        threads = {}
        outputs: dict[str, Arrays] = {}
        for count in effort.threads:
            threads[count], outputs = _measure_threads(count, network.flops(), places, inputs, folder, effort, peak)
        exact = exact_outputs(model, given)
    return NetworkResult(
        name,
        network.title,
        network.goal,
        network.flops(),
        cold.seconds,
        cold.cpu_seconds,
        cold.peak_bytes,
        min(result.peers[RLX].load_ms for result in threads.values()),
        {peer: largest_difference(found, exact) for peer, found in outputs.items()},
        largest_difference(outputs[RLX], outputs[PEERS[0]]),
        threads,
    )


def _measure_threads(
    count: int, flops: int, places: dict[str, Path], inputs: Path, folder: Path, effort: Effort, peak: Peak
) -> tuple[ThreadsResult, dict[str, Arrays]]:
    peaks: list[float] = []
    with ExitStack() as stack:
        peers = [stack.enter_context(Peer(name, name, model, inputs, folder, count)) for name, model in places.items()]
        outputs = {peer.name: peer.outputs() for peer in peers}
        loads = {peer.name: peer.load_seconds for peer in peers}
        times = compare(peers, effort.rounds, effort.runs, between=lambda: peaks.append(peak.measure(count)))
    mine = times[RLX]
    results = {name: _result(mine, own, loads[name], flops, max(peaks)) for name, own in times.items()}
    return ThreadsResult(max(peaks) / 1e9, results), outputs


def _result(mine: Times, own: Times, load: float, flops: int, peak: float) -> PeerResult:
    return PeerResult(
        own.minimum * 1e3,
        own.median * 1e3,
        load * 1e3,
        mine.minimum / own.minimum,
        mine.over(own),
        flops / own.minimum / peak,
    )
