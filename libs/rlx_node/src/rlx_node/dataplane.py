"""The path of a request: placement, then run it here or pass it on, then the next candidate, within one
deadline.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Mapping
from typing import Final

from rlx_base.errors import ClusterError, RequestError, RlxError
from rlx_cluster.placement import Link, Placement, PlacementRequest, PlacementView, is_meant, place
from rlx_node.holdings import Holdings
from rlx_node.peaks import Peaks
from rlx_node.peers import Peers
from rlx_node.reconcile import Reconciler
from rlx_node.statistics import Statistics
from rlx_node.view import ClusterView
from rlx_wire.inference import Attempt, Candidate, Decision, InferRequest, InferResponse, Timings
from rlx_wire.nodes import LoadedModel
from rlx_wire.tensors import Array, Tensor

__all__ = ["DataPlane"]

_log = logging.getLogger("rlx.node")

# Another node may do better with these: it is full, draining, gone, restarting, or does not hold it any more.
_TRY_ANOTHER: Final = frozenset({500, 502, 503})
_CRASHED: Final = "RLX-E504"


class DataPlane:
    """Answers inferences for one actor, whether or not it has devices of its own."""

    def __init__(
        self,
        here: str,
        view: ClusterView,
        holdings: Holdings,
        peers: Peers,
        reconciler: Reconciler,
        statistics: Statistics,
        links: Mapping[str, Link],
        peaks: Peaks,
    ) -> None:
        self._here = here
        self._view = view
        self._holdings = holdings
        self._peers = peers
        self._reconciler = reconciler
        self._statistics = statistics
        self._links = dict(links)
        self._peaks = peaks
        self._in_flight: Counter[str] = Counter()
        self._idle = asyncio.Event()
        self._idle.set()

    async def idle(self) -> None:
        """Returns once no request is being answered."""
        await self._idle.wait()

    async def infer(
        self, request: InferRequest, request_id: str, seconds: float, forwarded: bool = False
    ) -> InferResponse:
        """Answers the request within `seconds`. One that was `forwarded` runs here or nowhere.

        Raises: E412, E413 unknown; E414 not loaded yet; E421 a required device; E416 nobody can take it;
        E417 too late; and what the last candidate that was tried said.
        """
        began = time.monotonic_ns()
        deadline = asyncio.get_running_loop().time() + seconds
        placement, view_version = self._place(request, request_id, forwarded)
        if not placement.candidates and forwarded:
            # Whoever sent it here had an older view, and tries the next.
            raise RequestError("E416", why=placement.reason)
        if not placement.candidates:
            raise self._nowhere(request, placement.reason)
        version = placement.candidates[0].version
        try:
            answer, attempts = await self._try(request, request_id, deadline, placement)
        except BaseException:
            self._statistics.failed(request.model, version, time.monotonic_ns() - began)
            raise
        timings = Timings.within(
            time.monotonic_ns() - began,
            queue_ns=answer.timings.queue_ns,
            compute_input_ns=answer.timings.compute_input_ns,
            compute_ns=answer.timings.compute_ns,
            compute_output_ns=answer.timings.compute_output_ns,
            profile_ns=answer.timings.profile_ns,
        )
        self._statistics.succeeded(request.model, answer.version, timings, round(time.time() * 1e3))
        decision = Decision(
            request_id=request_id,
            view_version=view_version,
            candidates=placement.candidates,
            reason=placement.reason,
            attempts=tuple(attempts),
        )
        return answer.model_copy(update={"timings": timings, "decision": decision})

    def known(self, model: str) -> list[LoadedModel]:
        """Every copy of a model that is loaded on a node that lives, this one included."""
        return [
            loaded
            for node in self._view.nodes()
            if node.liveness != "down" and node.record.status is not None
            for loaded in node.record.status.loaded
            if loaded.model == model
        ]

    def nowhere(self, model: str, version: str | None = None) -> RlxError:
        """Why nothing can be said about a model: it is not known at all, or not loaded yet."""
        return self._nowhere(InferRequest(model=model, version=version, inputs={}), "")

    def _place(self, request: InferRequest, request_id: str, forwarded: bool) -> tuple[Placement, int]:
        hint = request.schedule_hint
        nodes = self._view.nodes()
        if forwarded:
            nodes = tuple(node for node in nodes if node.record.id == self._here)
        view = PlacementView(
            version=self._view.version,
            here=self._here,
            nodes=nodes,
            in_flight=dict(self._in_flight),
            links=self._links,
        )
        wanted = PlacementRequest(
            id=request_id,
            model=request.model,
            version=request.version,
            target=request.target,
            preferred_devices=hint.preferred_devices if hint else (),
            required=hint.required if hint else False,
            bytes=sum(_bytes(tensor) for tensor in request.inputs.values()),
        )
        return place(wanted, view), view.version

    async def _try(
        self, request: InferRequest, request_id: str, deadline: float, placement: Placement
    ) -> tuple[InferResponse, list[Attempt]]:
        attempts: list[Attempt] = []
        crashed: set[str] = set()
        last: RlxError | None = None
        for candidate in placement.candidates:
            # A bundle that took one executor down is not let loose on the next.
            if candidate.digest in crashed:
                continue
            try:
                answer = await self._run(request, request_id, deadline, candidate)
            except RlxError as error:
                attempts.append(
                    Attempt(node=candidate.node, device=candidate.device, outcome=f"{error.code}: {error.message}")
                )
                if error.status not in _TRY_ANOTHER:
                    raise
                if error.code == _CRASHED:
                    crashed.add(candidate.digest)
                _log.warning("%s/%s failed: %s", candidate.node, candidate.device, error.message)
                last = error
            else:
                attempts.append(Attempt(node=candidate.node, device=candidate.device, outcome="ok"))
                return answer, attempts
        assert last is not None
        raise last

    async def _run(
        self, request: InferRequest, request_id: str, deadline: float, candidate: Candidate
    ) -> InferResponse:
        place_ = f"{candidate.node}/{candidate.device}"
        self._in_flight[place_] += 1
        self._idle.clear()
        try:
            if candidate.node == self._here:
                return await self._run_here(request, request_id, deadline, candidate)
            seconds = deadline - asyncio.get_running_loop().time()
            if seconds <= 0:
                raise RequestError("E417", phase="placement", limit="its time", setting="the client's timeout")
            node = next((n.record for n in self._view.nodes() if n.record.id == candidate.node), None)
            if node is None:
                raise ClusterError("E507", node=candidate.node, state="gone")
            pinned = request.model_copy(update={"version": candidate.version, "target": candidate.target})
            return await self._peers.infer(node, pinned, request_id, seconds)
        finally:
            self._in_flight[place_] -= 1
            if not self._in_flight.total():
                self._idle.set()

    async def _run_here(
        self, request: InferRequest, request_id: str, deadline: float, candidate: Candidate
    ) -> InferResponse:
        inputs = {name: tensor.array(name) for name, tensor in request.inputs.items()}
        result = await self._holdings.run(candidate, inputs, deadline, request.profile)
        profile, timings = None, result.timings
        if result.profile is not None:
            began = time.monotonic_ns()
            profile = result.profile.chrome_trace(await self._peaks(result.profile.threads))
            timings = timings.model_copy(update={"profile_ns": time.monotonic_ns() - began})
        exact = any(tensor.b64 is not None for tensor in request.inputs.values())
        return InferResponse(
            model=request.model,
            version=candidate.version,
            target=candidate.target,
            node=self._here,
            device=candidate.device,
            outputs={name: _sent(array, exact) for name, array in result.outputs.items()},
            timings=timings,
            decision=Decision(request_id=request_id, view_version=self._view.version),
            profile=profile,
        )

    def _nowhere(self, request: InferRequest, reason: str) -> RlxError:
        model, version, target = request.model, request.version, request.target
        loaded = self.known(model)
        fitting = [c for c in loaded if version in (None, c.version) and is_meant(target, c.target)]
        hint = request.schedule_hint
        if fitting and hint is not None and hint.required:
            places = ", ".join(sorted({copy.device for copy in fitting}))
            devices = ", ".join(hint.preferred_devices) or "no device"
            return RequestError("E421", devices=devices, model=model, loaded=places)
        if fitting:
            return RequestError("E416", why=reason or "every node that has it drains or is down")
        served = {(copy.version, copy.target) for copy in loaded}
        pending = self._reconciler.pending(model, version, target, served)
        if pending is not None:
            return RequestError("E414", model=model, why=pending.why, help=pending.help)
        if not loaded:
            return RequestError("E412", model=model)
        missing = " ".join(f"{what} {value}" for what, value in (("version", version), ("target", target)) if value)
        known = ", ".join(f"version {v} for {t}" for v, t in sorted(served))
        return RequestError("E413", model=model, what=missing, known=known)


def _bytes(tensor: Tensor) -> int:
    """Roughly what a tensor takes on the wire."""
    return len(tensor.b64) * 3 // 4 if tensor.b64 is not None else _elements(tensor) * 8


def _elements(tensor: Tensor) -> int:
    count = 1
    for size in tensor.shape:
        count *= size
    return count


def _sent(array: Array, exact: bool) -> Tensor:
    return Tensor.encode(array) if exact else Tensor.listed(array)
