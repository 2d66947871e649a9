"""Inside the executor process: one thread reads messages, one loads bundles, one computes.

Only the computing thread and its team touch compiled code. The reading thread sleeps in the kernel, so a run
meets no other Python thread that wants the interpreter's lock.
"""

from __future__ import annotations

import math
import queue
import threading
import time
from collections.abc import Callable
from pathlib import Path

from rlx_base.dtypes import STRING
from rlx_base.errors import ArtifactError, RequestError
from rlx_runtime.executor.protocol import (
    Cancel,
    Channel,
    Done,
    Drop,
    Failed,
    Hello,
    Load,
    Map,
    Message,
    Run,
    Started,
    Unload,
    close_descriptor,
)
from rlx_runtime.executor.segment import Segment, layout
from rlx_runtime.native import aligned_zeros
from rlx_runtime.program import Cancel as CancelCell
from rlx_runtime.program import Program, load_program
from rlx_runtime.team import ThreadTeam
from rlx_wire.manifest import HostOpSegment

__all__ = ["Server"]

_WARM_RUNS = 3
_WARM_LIMIT_NS = 200_000_000


class Server:
    """Serves one node until its socket closes."""

    def __init__(self, channel: Channel, team: ThreadTeam, device: int = 0) -> None:
        self._channel = channel
        self._team = team
        self._device = device
        self._programs: dict[str, Program] = {}
        self._run_ns: dict[str, int] = {}
        self._segments: dict[int, Segment] = {}
        self._cancels: dict[int, CancelCell] = {}
        self._loads: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._computations: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()

    def serve(self) -> None:
        """Returns when the node is gone. What still computes then ends with the process."""
        for name, work in (("rlx-load", self._loads), ("rlx-compute", self._computations)):
            threading.Thread(target=_drain, args=(work,), name=name, daemon=True).start()
        self._channel.send(Hello(self._team.size))
        while (received := self._channel.receive()) is not None:
            self._take(*received)

    def _take(self, message: Message, descriptor: int | None) -> None:
        if isinstance(message, Map) and descriptor is not None:
            self._segments[message.segment] = Segment(descriptor, message.size)
            return
        close_descriptor(descriptor)
        match message:
            case Drop(segment):
                self._segments.pop(segment).close()
            case Load():
                self._loads.put(lambda: self._load(message))
            case Unload():
                self._computations.put(lambda: self._unload(message))
            case Run():
                received = time.monotonic_ns()
                cell = self._cancels[message.id] = CancelCell(0)
                self._computations.put(lambda: self._run(message, cell, received))
            case Cancel(id):
                if id in self._cancels:
                    self._cancels[id].value = 1

    def _load(self, message: Load) -> None:
        """On the loading thread: hashing hundreds of megabytes must not hold up the runs of other bundles."""
        try:
            if message.digest in self._programs:
                self._channel.send(Done(message.id, compute_ns=self._run_ns[message.digest]))
                return
            program = load_program(Path(message.directory), self._team, message.digest, device=self._device)
            _check_tensors(program)
        except Exception as error:
            self._channel.send(Failed.of(message.id, error))
            return
        self._computations.put(lambda: self._warm(message, program))

    def _warm(self, message: Load, program: Program) -> None:
        """The first run pays for page faults; it is paid here, so that loaded means ready."""

        def compute() -> Done:
            best = _warm_run(program)
            older = self._programs.get(message.digest)
            self._programs[message.digest], self._run_ns[message.digest] = program, best
            if older is not None:
                older.close()  # It was asked for twice before the first was ready.
            return Done(message.id, compute_ns=best)

        self._answer(message.id, compute)

    def _unload(self, message: Unload) -> None:
        program = self._programs.pop(message.digest, None)
        if program is not None:
            program.close()
        self._channel.send(Done(message.id))

    def _run(self, message: Run, cell: CancelCell, received: int) -> None:
        def compute() -> Done:
            program = self._programs.get(message.digest)
            if program is None:
                raise RequestError("E414", model=message.digest[:12], why="this executor does not hold it")
            if cell.value:
                raise RequestError("E425", model=program.manifest.model)
            places = layout(program.manifest, tuple(message.dims), program.trace_bytes if message.trace else 0)
            segment = self._segments[message.segment]
            begin = time.monotonic_ns()
            program.call(
                [segment.address + place.offset for place in places.inputs],
                [segment.address + place.offset for place in places.outputs],
                message.dims,
                cancel=cell,
                trace=segment.address + places.trace if message.trace else 0,
            )
            return Done(message.id, queue_ns=begin - received, compute_ns=time.monotonic_ns() - begin)

        self._answer(message.id, compute)
        del self._cancels[message.id]

    def _answer(self, id: int, compute: Callable[[], Done]) -> None:
        self._channel.send(Started(id))
        try:
            reply: Message = compute()
        except Exception as error:
            reply = Failed.of(id, error)
        self._channel.send(reply)


def _check_tensors(program: Program) -> None:
    """That all inputs and outputs can lie in shared memory: texts cannot. Raises E310."""
    for spec in (*program.manifest.inputs, *program.manifest.outputs):
        if spec.dtype == STRING.name:
            program.close()
            raise ArtifactError("E310", expected="tensors of numbers, as a node serves", found=f"{spec.name} of text")


def _warm_run(program: Program) -> int:
    """The shortest of a few runs on zeros, in nanoseconds; 0 where symbolic dims leave the shapes open, or where zeros
    are no input that its host ops could take."""
    manifest = program.manifest
    if manifest.dims or any(isinstance(part, HostOpSegment) for part in manifest.launch_plan):
        return 0
    places = layout(manifest, ())
    memory = aligned_zeros(places.size)
    best, spent = math.inf, 0
    for _ in range(_WARM_RUNS):
        begin = time.monotonic_ns()
        program.call(
            [memory.ctypes.data + place.offset for place in places.inputs],
            [memory.ctypes.data + place.offset for place in places.outputs],
        )
        took = time.monotonic_ns() - begin
        best, spent = min(best, took), spent + took
        if spent > _WARM_LIMIT_NS:
            break
    return int(best)


def _drain(work: queue.SimpleQueue[Callable[[], None]]) -> None:
    while True:
        try:
            work.get()()
        except OSError:
            return  # The node is gone; the reading thread ends the process.
