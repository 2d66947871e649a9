"""The thread team: how many threads this process may use, and the threads that run one native call together.

A compiled model is SPMD: each member of the team calls `rlx_main` once per inference, and the members meet at
native barriers inside it. The team is made once and kept; the calling thread is member 0, so that a team of
one costs nothing. ctypes lets go of the interpreter's lock for the length of a call: members run side by
side.
"""

from __future__ import annotations

import ctypes
import os
import threading
import weakref
from collections.abc import Sequence
from pathlib import Path

from rlx_runtime.cgroup import cpu_quota
from rlx_wire.abi import RLX_OK, Barrier, Call

__all__ = ["ThreadTeam", "team_size"]

# How often a member looks at the barrier before it lets another thread have the processor. A few microseconds: kernels
# of one plan follow each other closely, and a team is never larger than the processors it may use.
_SPINS = 4096

_ENTRY = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)


def team_size(root: Path = Path("/")) -> int:
    """How many threads may compute at once: the processors of this process's affinity, within its cgroup's quota.

    A quota of 1.5 processors gives one thread: two that meet at barriers would be throttled in the middle of
    them.
    """
    held = len(os.sched_getaffinity(0))
    quota = cpu_quota(root)
    return held if quota is None else max(1, min(held, int(quota)))


class _Member:
    """One waiting thread and its mailbox. It holds no reference to the team, so that a dropped team can end it."""

    def __init__(self, name: str) -> None:
        self.entry = 0
        self.call: Call | None = None
        self.status = RLX_OK
        # Two locks used as gates are the cheapest way to wake a Python thread; both start closed.
        self.go, self.done = threading.Lock(), threading.Lock()
        self.go.acquire()
        self.done.acquire()
        threading.Thread(target=self._serve, name=name, daemon=True).start()

    def _serve(self) -> None:
        while True:
            self.go.acquire()
            if self.call is None:
                return
            self.status = _ENTRY(self.entry)(ctypes.addressof(self.call))
            self.call = None
            self.done.release()


class ThreadTeam:
    """`size` threads that make one native call together. Calls are taken one at a time, from any thread."""

    def __init__(self, size: int | None = None) -> None:
        self.size = team_size() if size is None else size
        if self.size < 1:
            raise ValueError(f"a team has at least one member, not {self.size}")
        self._members = [_Member(f"rlx-team-{index}") for index in range(1, self.size)]
        self._turn = threading.Lock()
        # At the interpreter's end daemon threads end by themselves, even in the middle of a call.
        weakref.finalize(self, _dismiss, self._members).atexit = False

    @staticmethod
    def barrier() -> Barrier:
        """A barrier for one program's calls, zeroed as the ABI wants it."""
        return Barrier(spins=_SPINS)

    def run(self, entry: int, calls: Sequence[Call]) -> int:
        """Each member calls `entry` with its own struct; gives RLX_OK or the first other answer, when all are back."""
        assert len(calls) == self.size, "one call for each member"
        with self._turn:
            for member, call in zip(self._members, calls[1:], strict=True):
                member.entry, member.call = entry, call
                member.go.release()
            try:
                status = int(_ENTRY(entry)(ctypes.addressof(calls[0])))
            finally:
                # Also when Ctrl-C struck during the call: a member left uncollected would answer for the next one.
                for member in self._members:
                    member.done.acquire()
            statuses = [status, *(member.status for member in self._members)]
        return next((status for status in statuses if status != RLX_OK), RLX_OK)


def _dismiss(members: list[_Member]) -> None:
    for member in members:
        member.call = None
        member.go.release()
