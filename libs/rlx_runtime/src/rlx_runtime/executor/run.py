"""One run: tensors into shared memory, the request, tensors out, and what to do when nobody waits any more.

The process works on the memory until it answers, whether the caller still waits or not. So the slot and the
segment belong to the run, and are given back when the process has let go of them, not when the caller goes
away.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np

from rlx_runtime.executor.guard import Slot, deadline_exceeded
from rlx_runtime.executor.pool import PooledSegment, SegmentPool
from rlx_runtime.executor.process import ExecutorProcess
from rlx_runtime.executor.protocol import Cancel, Done, Run
from rlx_runtime.executor.segment import Layout, Segment, layout
from rlx_runtime.inputs import Array, Binding
from rlx_runtime.profile import Profile, read_trace
from rlx_wire.abi import Trace
from rlx_wire.inference import Timings
from rlx_wire.manifest import Manifest

__all__ = ["Result", "RunRequest"]

_T = TypeVar("_T")

# Copies beyond this size leave the event loop; below it a thread's hand-over costs more than the copy.
_INLINE_COPY: Final = 1 << 20
_TRACE_ROW: Final = np.dtype(Trace).itemsize


@dataclass(frozen=True, slots=True)
class Result:
    """The outputs, where the time went, and, when a trace was asked for, the timings of every kernel."""

    outputs: dict[str, Array]
    timings: Timings
    profile: Profile | None = None


@dataclass(slots=True)
class RunRequest:
    """What one caller asked for. `slot` is None once the process alone holds it."""

    digest: str
    manifest: Manifest
    binding: Binding
    begin: float
    deadline: float | None
    trace: bool
    cancel_grace_s: float
    slot: Slot | None = None

    async def attempt(self, process: ExecutorProcess, pool: SegmentPool) -> Result:
        """Runs on this process. Raises what the process answers, ProcessEnded, or E417 after the deadline."""
        loop = asyncio.get_running_loop()
        trace_bytes = len(self.manifest.kernels) * process.threads * _TRACE_ROW if self.trace else 0
        places = layout(self.manifest, self.binding.dims, trace_bytes)
        segment, ours = pool.take(places.size, process), True
        try:
            copy_in = loop.time()
            await _copying(places, lambda: _write(segment.memory, places, self.binding, trace_bytes))
            id = process.next_id()
            sent = loop.time()
            message = Run(id, self.digest, segment.number, list(self.binding.dims), self.trace)
            reply = process.request(id, message)
            try:
                async with asyncio.timeout_at(self.deadline):
                    done = await asyncio.shield(reply)
            except (TimeoutError, asyncio.CancelledError) as error:
                phase = "compute" if process.has_started(id) else "queue"
                self._abandon(process, pool, id, reply, segment)
                ours = False
                if isinstance(error, TimeoutError):
                    raise deadline_exceeded(phase, self.begin, self.deadline) from None
                raise
            copy_out = loop.time()
            outputs = await _copying(places, lambda: _read(segment.memory, places, self.manifest))
            profile = self._profile(process.threads, segment.memory.read(places.trace, trace_bytes))
            end = loop.time()
        finally:
            if ours:
                pool.give_back(segment)
        return Result(
            outputs,
            Timings.within(
                _ns(end - self.begin),
                queue_ns=_ns(copy_in - self.begin) + done.queue_ns,
                compute_input_ns=_ns(sent - copy_in),
                compute_ns=done.compute_ns,
                compute_output_ns=_ns(end - copy_out),
            ),
            profile,
        )

    def leave(self) -> None:
        """The caller is through: its slot goes to the next, unless the process still computes on it."""
        if self.slot is not None:
            self.slot.release()

    def _profile(self, threads: int, rows: bytes) -> Profile | None:
        return Profile.of(self.manifest, threads, [read_trace(rows)]) if self.trace else None

    def _abandon(
        self,
        process: ExecutorProcess,
        pool: SegmentPool,
        id: int,
        reply: asyncio.Future[Done],
        segment: PooledSegment,
    ) -> None:
        """Asks the process to let go. Slot and segment follow when it has; a kernel that never ends is killed."""
        loop = asyncio.get_running_loop()
        slot, self.slot = self.slot, None
        timer: asyncio.TimerHandle | None = None

        def overdue() -> None:
            nonlocal timer
            # A run that has not started waits behind another one, which is no fault of its own.
            if process.has_started(id):
                process.kill()
            else:
                timer = loop.call_later(self.cancel_grace_s, overdue)

        timer = loop.call_later(self.cancel_grace_s, overdue)

        def let_go(reply: asyncio.Future[Done]) -> None:
            if timer is not None:
                timer.cancel()
            reply.exception()  # Nobody waits for it any more.
            pool.give_back(segment)
            if slot is not None:
                slot.release()

        reply.add_done_callback(let_go)
        process.post(Cancel(id))


def _write(memory: Segment, places: Layout, binding: Binding, trace_bytes: int) -> None:
    for place, array in zip(places.inputs, binding.arrays, strict=True):
        np.copyto(memory.array(place), array)
    # A segment that was used before still holds the rows of its last trace.
    memory.clear(places.trace, trace_bytes)


def _read(memory: Segment, places: Layout, manifest: Manifest) -> dict[str, Array]:
    return {spec.name: memory.array(place).copy() for spec, place in zip(manifest.outputs, places.outputs, strict=True)}


async def _copying(places: Layout, copy: Callable[[], _T]) -> _T:
    """Copies here or, where it would hold up the event loop, on another thread."""
    if places.size <= _INLINE_COPY:
        return copy()
    return await _to_the_end(asyncio.to_thread(copy))


async def _to_the_end(work: Awaitable[_T]) -> _T:
    """Waits until the work is through even when cancelled: it uses memory that is given back right after."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            try:
                await asyncio.wait([task])
            except asyncio.CancelledError:
                continue
        raise


def _ns(seconds: float) -> int:
    return round(seconds * 1e9)
