"""The messages between a node and its executor, and the socket that carries them.

The socket keeps packets apart, so one packet is one message: small JSON, never pickle. Tensors do not travel
here; a `Map` hands over a piece of shared memory once, by file descriptor, and later messages name it by
number.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import sys
from dataclasses import asdict, dataclass
from typing import Any, Final

from rlx_base import errors
from rlx_base.errors import RlxError

__all__ = [
    "Cancel",
    "Channel",
    "Done",
    "Drop",
    "Failed",
    "Hello",
    "Load",
    "Map",
    "Message",
    "Run",
    "Started",
    "Unload",
]

# Small enough for every default socket buffer; a message has no part that grows with a model.
_PACKET: Final = 64 << 10
_TEXT: Final = 4000
_INT: Final = struct.calcsize("i")


@dataclass(frozen=True, slots=True)
class Load:
    """Check, map and warm a bundle. Answered by Done, whose `compute_ns` is the time of one warm run (0: unknown)."""

    id: int
    digest: str
    directory: str


@dataclass(frozen=True, slots=True)
class Unload:
    """Forget a bundle, after the runs that were asked for before."""

    id: int
    digest: str


@dataclass(frozen=True, slots=True)
class Map:
    """A new piece of shared memory; its descriptor comes with the packet."""

    segment: int
    size: int


@dataclass(frozen=True, slots=True)
class Drop:
    """That piece is not used any more."""

    segment: int


@dataclass(frozen=True, slots=True)
class Run:
    """Compute on a piece of shared memory, laid out by `segment.layout` for these dims."""

    id: int
    digest: str
    segment: int
    dims: list[int]
    trace: bool


@dataclass(frozen=True, slots=True)
class Cancel:
    """End that run at its next kernel, or before it starts. The run is answered all the same."""

    id: int


@dataclass(frozen=True, slots=True)
class Hello:
    """The process is up, with a team of so many threads."""

    threads: int


@dataclass(frozen=True, slots=True)
class Started:
    """From now on the process computes this request; if it dies before the answer, this is what killed it."""

    id: int


@dataclass(frozen=True, slots=True)
class Done:
    """The request is through: how long it waited in the process and how long it computed."""

    id: int
    queue_ns: int = 0
    compute_ns: int = 0


@dataclass(frozen=True, slots=True)
class Failed:
    """The request was refused, with the parts of the RlxError."""

    id: int
    code: str
    fields: dict[str, str]
    caused_by: str | None = None

    @classmethod
    def of(cls, id: int, error: BaseException) -> Failed:
        if not isinstance(error, RlxError):
            return cls(id, "E900", {"what": f"{type(error).__name__}: {error}"[:_TEXT]})
        fields = {name: str(value)[:_TEXT] for name, value in error.fields.items()}
        caused_by = error.caused_by and error.caused_by[:_TEXT]
        return cls(id, error.code.removeprefix("RLX-"), fields, caused_by)

    def error(self) -> RlxError:
        """The error as the process raised it."""
        kind = next(
            value
            for value in vars(errors).values()
            if isinstance(value, type) and issubclass(value, RlxError) and value.series == self.code[:2]
        )
        fields: dict[str, Any] = dict(self.fields)
        return kind(self.code, caused_by=self.caused_by, **fields)


Message = Load | Unload | Map | Drop | Run | Cancel | Hello | Started | Done | Failed
_KINDS: Final[dict[str, type[Any]]] = {
    kind.__name__: kind for kind in (Load, Unload, Map, Drop, Run, Cancel, Hello, Started, Done, Failed)
}


class Channel:
    """One end of the socket. Sending is one system call, so threads may share it."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end

    @staticmethod
    def pair() -> tuple[socket.socket, socket.socket]:
        return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, message: Message, descriptor: int | None = None) -> None:
        """Raises OSError once the other side is gone, BlockingIOError where this end does not block and is full."""
        data = json.dumps({"kind": type(message).__name__, **asdict(message)}, separators=(",", ":")).encode()
        assert len(data) <= _PACKET, f"a message of {len(data)} bytes"
        if descriptor is None:
            self._socket.sendmsg([data], [], socket.MSG_NOSIGNAL)
        else:
            socket.send_fds(self._socket, [data], [descriptor], socket.MSG_NOSIGNAL)

    def receive(self) -> tuple[Message, int | None] | None:
        """The next message and the descriptor that came with it; None when the other side is gone."""
        try:
            # Not `socket.recv_fds`, which drops its flags: the descriptor would leak into child processes.
            data, controls, _, _ = self._socket.recvmsg(_PACKET, socket.CMSG_SPACE(_INT), socket.MSG_CMSG_CLOEXEC)
        except ConnectionError:
            return None
        if not data:
            return None
        fields = json.loads(data)
        message: Message = _KINDS[fields.pop("kind")](**fields)
        descriptors = [int.from_bytes(data[:_INT], sys.byteorder) for _, _, data in controls]
        return message, descriptors[0] if descriptors else None

    def close(self) -> None:
        self._socket.close()


def close_descriptor(descriptor: int | None) -> None:
    """Closes what came with a message that should have carried none."""
    if descriptor is not None:
        os.close(descriptor)
