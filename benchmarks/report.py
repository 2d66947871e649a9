"""What was measured, as a table for people: on the terminal, and in README.md with the day and the processor."""

from __future__ import annotations

import datetime
import math
import platform
import statistics
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

__all__ = ["broken_promises", "geometric_means", "markdown", "processor", "write_readme"]

Result = Mapping[str, Any]

_BEGIN = "<!-- written by `make bench-readme` -->"
_END = "<!-- end of what `make bench-readme` writes -->"
# Of the error that onnxruntime makes against float64.
_MOST_ERROR = 2.0
# Where errors are a few units in the last place, their ratio says nothing.
_FREE_ERROR = 4 * 2.0**-24


def processor() -> str:
    """The processor's name, as Linux tells it."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def geometric_means(results: Iterable[Result]) -> dict[str, float]:
    """Over all networks, by number of threads: RLX's minimum over the better peer's."""
    ratios: dict[str, list[float]] = {}
    for result in results:
        for count, threads in result["threads"].items():
            ratios.setdefault(str(count), []).append(threads["ratio"])
    return {count: statistics.geometric_mean(found) for count, found in ratios.items()}


def scaling(result: Result) -> float | None:
    """By how much two threads speed RLX up, over what they do for a loop of nothing but multiply-adds."""
    one, two = (result["threads"].get(str(count)) for count in (1, 2))
    if one is None or two is None:
        return None
    speedup: float = one["peers"]["rlx"]["minimum_ms"] / two["peers"]["rlx"]["minimum_ms"]
    return speedup / (two["peak_gflops"] / one["peak_gflops"])


def markdown(report: Mapping[str, Any]) -> str:
    """A table of all networks, with what one must know to read it."""
    counts = sorted({count for result in report["networks"] for count in result["threads"]}, key=int)
    lines = []
    for count in counts:
        rows = [(result, result["threads"][count]) for result in report["networks"] if count in result["threads"]]
        peak = max(threads["peak_gflops"] for _, threads in rows)
        lines += [f"**{count} thread{'s' if count != '1' else ''}**, peak {peak:.0f} GFLOP/s", ""]
        lines += ["| network | RLX ms | onnxruntime ms | OpenVINO ms | RLX ÷ better peer | goal | of peak |"]
        lines += ["|---|--:|--:|--:|--:|--:|--:|"]
        for result, threads in rows:
            times = [_times(threads["peers"][name]) for name in ("rlx", "onnxruntime", "openvino")]
            cells = [result["title"], *times, f"**{threads['ratio']:.2f}**", f"{result['goal']:.2f}"]
            lines.append("| " + " | ".join([*cells, f"{threads['peers']['rlx']['peak_share']:.0%}"]) + " |")
        mean = report["geometric_means"][count]
        lines += [f"| geometric mean | | | | **{mean:.2f}** | 0.80 | |", ""]
    lines += [
        "| network | compile s (CPU s) | memory MB | warm load ms | error ÷ onnxruntime's | two threads ÷ ideal |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for result in report["networks"]:
        gain = scaling(result)
        cells = [
            result["title"],
            f"{result['compile_seconds']:.1f} ({result['compile_cpu_seconds']:.1f})",
            f"{result['compile_peak_bytes'] / 1e6:.0f}",
            f"{result['warm_load_ms']:.0f}",
            f"{result['errors']['rlx']:.1e} ÷ {result['errors']['onnxruntime']:.1e}",
            "" if gain is None else f"{gain:.2f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    lines += [
        "",
        f"{report['date']}, {report['cpu']}. Each in a process of its own, taking turns; minimum / median.",
        f"Versions: {', '.join(f'{name} {version}' for name, version in report['versions'].items())}.",
    ]
    return "\n".join(lines)


def _times(peer: Result) -> str:
    return f"{peer['minimum_ms']:.2f} / {peer['median_ms']:.2f}"


def broken_promises(report: Mapping[str, Any], most_seconds: float) -> list[str]:
    """What `make bench` holds a build to, and this one does not keep: right results, and compile times."""
    found = []
    for result in report["networks"]:
        mine, theirs = result["errors"]["rlx"], result["errors"]["onnxruntime"]
        if not math.isfinite(mine) or mine > max(_MOST_ERROR * theirs, _FREE_ERROR):
            found.append(f"{result['title']} is {mine:.1e} from float64, onnxruntime {theirs:.1e}")
        if result["compile_seconds"] > most_seconds:
            found.append(f"{result['title']} compiles in {result['compile_seconds']:.1f} s, at most {most_seconds}")
    return found


def write_readme(report: Mapping[str, Any], readme: Path) -> None:
    """The table in its place between two marks. Raises ValueError where they are missing."""
    text = readme.read_text(encoding="utf-8")
    before, begin, rest = text.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise ValueError(f"{readme} has no place for the table: {_BEGIN} … {_END}")
    readme.write_text(f"{before}{begin}\n{markdown(report)}\n{end}{after}", encoding="utf-8")


def today() -> str:
    return datetime.datetime.now(datetime.UTC).date().isoformat()
