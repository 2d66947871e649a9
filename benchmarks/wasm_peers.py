"""EfficientNet-Lite0 as WebAssembly beside onnxruntime-web, in one Node, one thread: `make bench-wasm`.

Ratios are of times of the same run, the peers taking turns: below 1, RLX is faster. Outputs are compared too.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.models import lite0
from examples.efficientnet_lite0 import convert
from rlx_compiler import CompileOptions, compile_source

HERE = Path(__file__).with_name("wasm")
REPORT = Path("build/reports/wasm_peers.json")
LARGEST_DIFFERENCE = 1e-3


def measure(targets: list[str], rounds: int, node: str, folder: Path) -> list[dict[str, object]]:
    """For each peer its name, the fastest and the median of its milliseconds, and the ratio of medians to the first."""
    source = convert.convert()
    (folder / "model.onnx").write_bytes(lite0.model().SerializeToString())
    lite0.inputs()["image"].tofile(folder / "image.f32")
    bundles = [compile_source(source, CompileOptions(name), folder / name.replace(":", "-")) for name in targets]
    command = [node, *_flags(node), str(HERE / "peers.mjs"), str(folder / "model.onnx"), str(folder / "image.f32")]
    command += [str(rounds), *(str(bundle.directory) for bundle in bundles)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    peers = json.loads(done.stdout.splitlines()[-1])
    expected = np.array(peers[0]["outputs"]["probabilities"])
    first = float(np.median(peers[0]["milliseconds"]))
    return [
        {
            "peer": name,
            "milliseconds": {"min": min(peer["milliseconds"]), "median": float(np.median(peer["milliseconds"]))},
            "ratio": float(np.median(peer["milliseconds"])) / first,
            "difference": float(np.abs(np.array(peer["outputs"]["probabilities"]) - expected).max()),
        }
        for name, peer in zip(["onnxruntime-web", *targets], peers, strict=True)
    ]


def _flags(node: str) -> list[str]:
    """Node before 21 takes relaxed SIMD as an experiment."""
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    return ["--experimental-wasm-relaxed-simd"] if int(version[1:].partition(".")[0]) < 21 else []


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", action="append", help="wasm, wasm:relaxed-simd; several times for several")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--node", default="node")
    parser.add_argument("--most", type=float, default=1.0, help="exit with 1 where plain wasm takes more than this")
    arguments = parser.parse_args()
    targets = arguments.target or ["wasm", "wasm:relaxed-simd"]
    with tempfile.TemporaryDirectory() as scratch:
        rows = measure(targets, arguments.rounds, arguments.node, Path(scratch))
    print(f"{'':<20}{'median ms':>10}{'min ms':>10}{'ratio':>8}{'difference':>12}")
    for row in rows:
        times = row["milliseconds"]
        assert isinstance(times, dict)
        print(
            f"{row['peer']:<20}{times['median']:>10.1f}{times['min']:>10.1f}{row['ratio']:>8.2f}"
            f"{row['difference']:>12.1e}"
        )
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    REPORT.write_text(json.dumps(rows, indent=1) + "\n")
    wrong = [row["peer"] for row in rows if float(str(row["difference"])) > LARGEST_DIFFERENCE]
    slow = [row["peer"] for row in rows if row["peer"] == "wasm" and float(str(row["ratio"])) > arguments.most]
    for what, names in (("wrong", wrong), (f"over {arguments.most} times the peer's time", slow)):
        if names:
            print(f"{what}: {names}", file=sys.stderr)
    return int(bool(wrong or slow))


if __name__ == "__main__":
    sys.exit(main())
