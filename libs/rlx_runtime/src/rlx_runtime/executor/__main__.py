"""`python -m rlx_runtime.executor SOCKET PARENT DEVICE [THREADS]`: the executor process, started by `Executor`."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import socket
import sys

from rlx_runtime.executor.protocol import Channel
from rlx_runtime.executor.server import Server
from rlx_runtime.team import ThreadTeam

_PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> int:
    descriptor, parent, device, *threads = map(int, arguments)
    # Also a node that is killed without a word takes its executors with it.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        return 1  # It died before the line above.
    # Ctrl-C reaches every process of the terminal; when this one ends is the node's decision.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Writing gigabytes of core would keep a crashed executor from being replaced.
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    with socket.socket(fileno=descriptor) as end:
        Server(Channel(end), ThreadTeam(*threads), device).serve()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
