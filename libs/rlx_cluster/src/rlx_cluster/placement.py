"""Where a request should run: a pure function of the request and of one actor's view.

The same request and view give the same list on every actor and every Python: all costs are integers, and
ties are broken by hashing. The order weighs, from strong to weak: the hint, liveness, cost (measured run
time, transfer, queue), then rendezvous hashing on the request id, which spreads equal requests over equal
nodes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from rlx_wire.inference import Candidate
from rlx_wire.nodes import LoadedModel, NodeView

__all__ = ["Link", "Placement", "PlacementRequest", "PlacementView", "is_meant", "place", "quantised"]

UNMEASURED_US: Final = 10_000
"""What a run is taken to cost before it was measured once."""


@dataclass(frozen=True, slots=True)
class Link:
    """The way to another node. What is not declared is taken as a gigabit network in one room."""

    latency_us: int = 200
    bytes_per_second: int = 125_000_000

    def transfer_us(self, size: int) -> int:
        return self.latency_us + size * 1_000_000 // self.bytes_per_second


@dataclass(frozen=True, slots=True)
class PlacementRequest:
    """What placement must know of an inference. Devices are named `cuda:0`, or `node/cuda:0` for one node's."""

    id: str
    model: str
    version: str | None = None
    target: str | None = None
    preferred_devices: tuple[str, ...] = ()
    required: bool = False
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class PlacementView:
    """What one actor knows when it decides. `in_flight` counts what it has itself sent to `node/device`
    already.

    A node reports its queue every heartbeat; in between, an actor's own requests are all that tells it that
    a node fills up, so that actors with the same stale view do not herd.
    """

    version: int
    here: str
    nodes: tuple[NodeView, ...] = ()
    in_flight: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    links: Mapping[str, Link] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Placement:
    """The candidates, best first, and in one line why these."""

    candidates: tuple[Candidate, ...]
    reason: str


def place(request: PlacementRequest, view: PlacementView) -> Placement:
    """Every place where the request may run, best first. Empty where there is none; `reason` then says why."""
    serving = [(node, m) for node in view.nodes for m in _loaded(node) if m.model == request.model]
    if not serving:
        return Placement((), f"no live node has {request.model!r} loaded")
    version = request.version or max((model.version for _, model in serving), key=int)
    fitting = [
        (node, model) for node, model in serving if model.version == version and is_meant(request.target, model.target)
    ]
    if not fitting:
        wanted = f"version {version}" + (f" for target {request.target}" if request.target else "")
        return Placement((), f"no live node has {request.model!r} {wanted} loaded")
    ranked = [
        (_order(request, node, candidate), candidate)
        for node, model in fitting
        if (candidate := _candidate(request, view, node, model)).preferred or not request.required
    ]
    if not ranked:
        devices = ", ".join(request.preferred_devices)
        return Placement((), f"none of the required devices {devices} has {request.model!r} loaded")
    candidates = tuple(candidate for _, candidate in sorted(ranked, key=lambda pair: pair[0]))
    return Placement(candidates, _reason(candidates))


def is_meant(asked: str | None, target: str) -> bool:
    """Whether a request for `asked` may run on `target`: `llvm` means `llvm:x86-64-v4` too, None means any."""
    return asked is None or asked in (target, target.partition(":")[0])


def quantised(value: int) -> int:
    """`value` with its two leading bits kept: differences of a fifth are noise and must not herd requests."""
    drop = max(0, value.bit_length() - 2)
    return value >> drop << drop


_Order = tuple[int, bool, int, bytes, str, str, str]


def _loaded(node: NodeView) -> tuple[LoadedModel, ...]:
    takes = node.record.runs and node.record.status is not None and node.liveness != "down"
    return node.record.status.loaded if takes and node.record.status is not None else ()


def _candidate(request: PlacementRequest, view: PlacementView, node: NodeView, model: LoadedModel) -> Candidate:
    here = node.record.id == view.here
    run = model.run_us or UNMEASURED_US
    # This node counts its own queue itself; of another's, the report lags behind what was sent since.
    status = node.record.status
    waiting = 0 if status is None else status.queue_depth + status.running
    own = view.in_flight.get(f"{node.record.id}/{model.device}", 0)
    queue = quantised(max(waiting, own)) * run
    link = view.links.get(node.record.id, Link())
    transfer = 0 if here else link.transfer_us(request.bytes)
    return Candidate(
        node=node.record.id,
        device=model.device,
        version=model.version,
        target=model.target,
        digest=model.digest,
        cost_us=run + queue + transfer,
        run_us=run,
        transfer_us=transfer,
        queue_us=queue,
        preferred=_rank(request, node.record.id, model.device) < len(request.preferred_devices),
    )


def _rank(request: PlacementRequest, node: str, device: str) -> int:
    """The place of a device among the preferred ones; their number where it is none of them."""
    names = (device, f"{node}/{device}")
    places = (i for i, wanted in enumerate(request.preferred_devices) if wanted in names)
    return next(places, len(request.preferred_devices))


def _order(request: PlacementRequest, node: NodeView, candidate: Candidate) -> _Order:
    place_in_hint = _rank(request, candidate.node, candidate.device)
    key = "\0".join((request.id, candidate.node, candidate.device, candidate.digest))
    weight = hashlib.sha256(key.encode()).digest()
    suspect = node.liveness != "alive"
    cost = quantised(candidate.cost_us)
    return (place_in_hint, suspect, cost, weight, candidate.node, candidate.device, candidate.digest)


def _reason(candidates: tuple[Candidate, ...]) -> str:
    first = candidates[0]
    if len(candidates) == 1:
        return f"only {first.node}/{first.device} has it"
    if first.preferred:
        return f"{first.node}/{first.device} is preferred by the request"
    equal = sum(quantised(c.cost_us) == quantised(first.cost_us) and not c.preferred for c in candidates)
    if equal > 1:
        return f"{equal} places cost the same; the request's id chose {first.node}/{first.device}"
    return f"{first.node}/{first.device} costs least: {first.cost_us} µs"
