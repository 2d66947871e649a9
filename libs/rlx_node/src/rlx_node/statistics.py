"""How a model's requests went, as the Open Inference Protocol's statistics want it: counts and nanoseconds."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from rlx_wire.inference import Timings

__all__ = ["ModelStatistics", "Statistics"]


@dataclass(slots=True)
class _Sum:
    count: int = 0
    ns: int = 0

    def add(self, ns: int) -> None:
        self.count += 1
        self.ns += ns


@dataclass(slots=True)
class ModelStatistics:
    """One version of one model, since this process began."""

    success: _Sum = field(default_factory=_Sum)
    fail: _Sum = field(default_factory=_Sum)
    queue: _Sum = field(default_factory=_Sum)
    compute_input: _Sum = field(default_factory=_Sum)
    compute_infer: _Sum = field(default_factory=_Sum)
    compute_output: _Sum = field(default_factory=_Sum)
    last_inference_ms: int = 0

    def answer(self, model: str, version: str) -> dict[str, Any]:
        """One entry of `model_stats`."""
        names = ("success", "fail", "queue", "compute_input", "compute_infer", "compute_output")
        sums = {name: getattr(self, name) for name in names}
        return {
            "name": model,
            "version": version,
            "last_inference": self.last_inference_ms,
            "inference_count": self.success.count,
            # Nothing is batched yet: every request is an execution of its own.
            "execution_count": self.success.count,
            "inference_stats": {name: {"count": s.count, "ns": s.ns} for name, s in sums.items()},
            "batch_stats": [],
        }


class Statistics:
    """The requests that this actor answered, run here or elsewhere."""

    def __init__(self) -> None:
        self._models: defaultdict[tuple[str, str], ModelStatistics] = defaultdict(ModelStatistics)

    def succeeded(self, model: str, version: str, timings: Timings, wall_ms: int) -> None:
        known = self._models[model, version]
        known.success.add(timings.total_ns)
        known.queue.add(timings.queue_ns)
        known.compute_input.add(timings.compute_input_ns)
        known.compute_infer.add(timings.compute_ns)
        known.compute_output.add(timings.compute_output_ns)
        known.last_inference_ms = wall_ms

    def failed(self, model: str, version: str, total_ns: int) -> None:
        self._models[model, version].fail.add(total_ns)

    def of(self, model: str, version: str) -> ModelStatistics:
        return self._models[model, version]
