"""Ends a stack whose supervisor was killed. Run by the supervisor as `python guard.py MARKER`, imports nothing of RLX.

The supervisor holds the other end of this process's standard input: the end of that stream is the supervisor's end,
however it came. Every process of the stack carries MARKER in its environment, children of children included, so they
are found even where they made sessions of their own.
"""

import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

GRACE_SECONDS = 10.0


def is_alive(process: Path) -> bool:
    """False for a zombie, which has ended and waits for a parent that may never ask."""
    try:
        # The name in parentheses may hold anything, so the state is looked for behind its end.
        return process.joinpath("stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (OSError, IndexError):
        return False


def members(marker: str) -> list[int]:
    """The living processes whose environment holds MARKER, but for this one."""
    found = []
    wanted = marker.encode()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            environment = process.joinpath("environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if wanted in environment and int(process.name) != os.getpid() and is_alive(process):
            found.append(int(process.name))
    return found


def send(number: signal.Signals, processes: list[int]) -> None:
    for pid in processes:
        with suppress(ProcessLookupError):  # it may end by itself meanwhile
            os.kill(pid, number)


def end(marker: str, grace_seconds: float) -> list[int]:
    """Asks every member to end, then makes them; returns those that had to be made."""
    send(signal.SIGTERM, members(marker))
    deadline = time.monotonic() + grace_seconds
    while members(marker):
        if time.monotonic() > deadline:
            stubborn = members(marker)
            # A process may start another while the list is made.
            while remaining := members(marker):
                send(signal.SIGKILL, remaining)
                time.sleep(0.02)
            return stubborn
        time.sleep(0.05)
    return []


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.buffer.read()
    end(sys.argv[1], GRACE_SECONDS)


if __name__ == "__main__":
    main()
