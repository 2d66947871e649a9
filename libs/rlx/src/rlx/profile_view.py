"""A profile (`profile.json`, a Chrome trace) as a table, and as a page of its own that shows the timeline."""

from __future__ import annotations

import html
import json
from collections import defaultdict
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from rlx_base.errors import ArtifactError

__all__ = ["KernelRow", "ProfileView"]


@dataclass(frozen=True, slots=True)
class KernelRow:
    """One kernel over all runs: from its first thread's start to its last thread's end, summed."""

    name: str
    ops: tuple[str, ...]
    calls: int
    total_ms: float
    share: float
    gflops: float
    intensity: float


@dataclass(frozen=True, slots=True)
class ProfileView:
    """What a profile says of a model's runs."""

    model: str
    target: str
    events: tuple[dict[str, Any], ...]

    @classmethod
    def read(cls, path: Path) -> ProfileView:
        """Raises E311 for a file that is no profile."""
        try:
            trace = json.loads(path.read_bytes())
            events = tuple(event for event in trace["traceEvents"] if event["ph"] == "X")
            other = trace.get("otherData", {})
            for event in events:
                float(event["ts"]), float(event["dur"]), event["tid"], event["name"], event["args"]["flops"]
        except (ValueError, KeyError, TypeError) as error:
            raise ArtifactError("E311", name=path, why=f"{type(error).__name__}: {error}") from None
        return cls(str(other.get("model", path.stem)), str(other.get("target", "")), events)

    def rows(self) -> list[KernelRow]:
        """One row for each kernel, the longest first."""
        spans: dict[tuple[str, int], tuple[float, float]] = {}
        about: dict[str, dict[str, Any]] = {}
        for event in self.events:
            key = event["name"], int(event["args"].get("run", 0))
            start, end = spans.get(key, (event["ts"], event["ts"] + event["dur"]))
            spans[key] = min(start, event["ts"]), max(end, event["ts"] + event["dur"])
            about[event["name"]] = event["args"]
        spent: dict[str, list[float]] = defaultdict(list)
        for (name, _), (start, end) in spans.items():
            spent[name].append(end - start)
        total = sum(map(sum, spent.values())) or 1.0
        rows = [self._row(name, about[name], times, total) for name, times in spent.items()]
        return sorted(rows, key=lambda row: -row.total_ms)

    def _row(self, name: str, about: dict[str, Any], times: list[float], total: float) -> KernelRow:
        flops, moved, took = about["flops"], about.get("bytes", 0), sum(times)
        return KernelRow(
            name,
            tuple(about.get("ops", ())),
            len(times),
            took / 1e3,
            took / total,
            flops * len(times) / took / 1e3 if took else 0.0,
            flops / moved if moved else 0.0,
        )

    def page(self) -> str:
        """A page with the timeline and the table; it needs nothing else, and no network."""
        template = files("rlx").joinpath("profile_page.html").read_text(encoding="utf-8")
        data = {
            "model": self.model,
            "target": self.target,
            "events": [
                {"n": e["name"], "t": e["tid"], "s": e["ts"], "d": e["dur"], "o": " + ".join(e["args"].get("ops", ()))}
                for e in self.events
            ],
            "rows": [
                [row.name, row.calls, round(row.total_ms, 4), round(row.share, 4), round(row.gflops, 2)]
                for row in self.rows()
            ],
        }
        embedded = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
        return template.replace("{{title}}", html.escape(self.model)).replace('"{{data}}"', embedded)
