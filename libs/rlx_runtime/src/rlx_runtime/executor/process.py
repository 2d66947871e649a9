"""One life of an executor process, seen from the node: spawned, asked, answered, and how it ended."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from rlx_runtime.executor.protocol import (
    Channel,
    Done,
    Failed,
    Hello,
    Message,
    Started,
    close_descriptor,
)

__all__ = ["ExecutorProcess", "ProcessEnded"]


class ProcessEnded(Exception):
    """The process was gone before it answered. `guilty`: it was computing this very request."""

    def __init__(self, reason: str, guilty: bool) -> None:
        super().__init__(reason)
        self.reason = reason
        self.guilty = guilty


@dataclass(slots=True)
class _Pending:
    reply: asyncio.Future[Done]
    started: bool = False


class ExecutorProcess:
    """A running `python -m rlx_runtime.executor` and the requests that it has not answered."""

    def __init__(self, threads: int | None, device: int = 0) -> None:
        """Spawns the process, for the device of this number of its kind; it says hello when it is up.

        Raises OSError where nothing can be spawned.
        """
        loop = asyncio.get_running_loop()
        ours, theirs = Channel.pair()
        with theirs:
            command = [sys.executable, "-P", "-m", "rlx_runtime.executor"]
            command += [str(theirs.fileno()), str(os.getpid()), str(device)]
            if threads is not None:
                command.append(str(threads))
            # Not from a worker thread: the kernel ends the process with the *thread* that spawned it.
            try:
                self._popen = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
            except BaseException:
                ours.close()
                raise
        ours.setblocking(False)
        self._channel = Channel(ours)
        self._pending: dict[int, _Pending] = {}
        self._numbers = itertools.count(1)
        self.hello: asyncio.Future[Hello] = loop.create_future()
        self.ended: asyncio.Future[str] = loop.create_future()
        loop.add_reader(self._channel.fileno(), self._read)

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def threads(self) -> int:
        """Members of its team. Known once it has said hello."""
        return self.hello.result().threads

    def next_id(self) -> int:
        return next(self._numbers)

    def request(self, id: int, message: Message) -> asyncio.Future[Done]:
        """Sends a message; the future gives the answer, the process's RlxError, or ProcessEnded."""
        reply: asyncio.Future[Done] = asyncio.get_running_loop().create_future()
        if self.ended.done():
            reply.set_exception(ProcessEnded("it had ended before", guilty=False))
            return reply
        self._pending[id] = _Pending(reply)
        self.post(message)
        return reply

    def post(self, message: Message, descriptor: int | None = None) -> None:
        """Sends a message that has no answer. To a process that is gone it does nothing."""
        if self.ended.done():
            return
        try:
            self._channel.send(message, descriptor)
        except BlockingIOError:
            # It reads at once and what is in flight is bounded: a full socket means that it stands still.
            self.kill()
        except OSError:
            pass  # It is going down; the reader sees the end.

    def has_started(self, id: int) -> bool:
        """Whether the process computes that request now."""
        return id in self._pending and self._pending[id].started

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._popen.kill()

    async def close(self, grace_s: float = 2.0) -> None:
        """Ends the process and waits for it. It leaves by itself when the socket closes; if not, it is killed."""
        self._disconnect()
        await self._reap(grace_s)
        self._fail_pending("it was closed", nobody_guilty=True)

    def _read(self) -> None:
        """Takes all messages that are there. Called by the event loop."""
        while True:
            try:
                received = self._channel.receive()
            except BlockingIOError:
                return
            if received is None:
                self._disconnect()
                self._ending = asyncio.ensure_future(self._end())
                return
            message, descriptor = received
            close_descriptor(descriptor)
            self._take(message)

    def _take(self, message: Message) -> None:
        match message:
            case Hello():
                if not self.hello.done():
                    self.hello.set_result(message)
            case Started(id):
                if id in self._pending:
                    self._pending[id].started = True
            case Done(id):
                self._answer(id, lambda reply: reply.set_result(message))
            case Failed(id):
                self._answer(id, lambda reply: reply.set_exception(message.error()))
            case _:
                self.kill()

    def _answer(self, id: int, settle: Callable[[asyncio.Future[Done]], None]) -> None:
        pending = self._pending.pop(id, None)
        if pending is not None and not pending.reply.done():
            settle(pending.reply)

    async def _end(self) -> None:
        """The other side closed its socket: it is dying, or dead."""
        code = await self._reap(grace_s=1.0)
        reason = f"exit code {code}" if code >= 0 else f"signal {_signal_name(-code)}"
        self._fail_pending(reason, nobody_guilty=False)

    def _fail_pending(self, reason: str, nobody_guilty: bool) -> None:
        pending, self._pending = self._pending, {}
        # With none of them started it died on a request that it was still preparing: a library's constructor, say.
        none_started = not any(entry.started for entry in pending.values())
        if not self.ended.done():
            self.ended.set_result(reason)
        if not self.hello.done():
            self.hello.set_exception(ProcessEnded(reason, guilty=False))
            self.hello.exception()  # Looked at, so that nobody has to.
        for entry in pending.values():
            if not entry.reply.done():
                guilty = not nobody_guilty and (entry.started or none_started)
                entry.reply.set_exception(ProcessEnded(reason, guilty))

    async def _reap(self, grace_s: float) -> int:
        """Waits for the process without blocking the loop and without leaving a zombie; kills it after `grace_s`."""
        limit = time.monotonic() + grace_s
        while (code := self._popen.poll()) is None:
            if time.monotonic() > limit:
                self.kill()
            await asyncio.sleep(0.002)
        return code

    def _disconnect(self) -> None:
        if self._channel.fileno() >= 0:
            asyncio.get_running_loop().remove_reader(self._channel.fileno())
            self._channel.close()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
