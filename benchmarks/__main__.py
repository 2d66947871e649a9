"""RLX beside onnxruntime and OpenVINO on six networks: `make bench`.

The result is a table, and `build/reports/bench.json`, from which `make bench-readme` writes the table in README.md.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

from benchmarks.measure import Effort, NetworkResult, measure_network
from benchmarks.models import NETWORKS
from benchmarks.paired import ROOT
from benchmarks.peak import Peak
from benchmarks.report import broken_promises, geometric_means, markdown, processor, today, write_readme

REPORT = ROOT / "build" / "reports" / "bench.json"


def plain(result: NetworkResult) -> dict[str, object]:
    """As JSON holds it."""
    threads = {str(count): asdict(found) | {"ratio": found.ratio} for count, found in result.threads.items()}
    return asdict(result) | {"threads": threads}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--networks", nargs="+", choices=list(NETWORKS), default=list(NETWORKS))
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--runs", type=int, default=5, help="runs of each peer in a round")
    parser.add_argument("--max-compile", type=float, default=15.0, metavar="SECONDS")
    parser.add_argument("--readme", action="store_true", help="measure nothing: write the last report into README.md")
    arguments = parser.parse_args()
    if arguments.readme:
        write_readme(json.loads(REPORT.read_text(encoding="utf-8")), ROOT / "README.md")
        return 0
    effort = Effort(arguments.rounds, arguments.runs, arguments.threads)
    found = []
    with tempfile.TemporaryDirectory(prefix="rlx-bench-") as folder:
        peak = Peak(Path(folder))
        for name in arguments.networks:
            print(f"{NETWORKS[name].title} …", file=sys.stderr, flush=True)
            found.append(plain(measure_network(name, NETWORKS[name], effort, peak)))
    report = {
        "date": today(),
        "cpu": processor(),
        "versions": {name: version(name) for name in ("onnxruntime", "openvino")},
        "networks": found,
        "geometric_means": geometric_means(found),
    }
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    REPORT.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    print(markdown(report))
    broken = broken_promises(report, arguments.max_compile)
    for line in broken:
        print(f"promise broken: {line}", file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
