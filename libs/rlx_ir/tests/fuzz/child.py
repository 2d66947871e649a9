"""The process that reads hostile texts: limited in memory and time, and watched for anything but reading.

Run as a script. On stdin: frames of a kind (`t` text, `z` archive), a length (8 digits) and that many bytes. On stdout:
one line of JSON for each: its code, seconds of CPU, peak memory, and the events that should never have happened.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

MEMORY = 512 << 20
CPU_SECONDS = 600  # a batch; one text is timed by itself

# What reading never does. `compile` is what `ast.parse` raises, and runs nothing.
FORBIDDEN = (
    "exec",
    "import",
    "open",
    "code.__new__",
    "pickle.",
    "marshal.",
    "ctypes.",
    "socket.",
    "subprocess.",
    "os.",
)
events: list[str] = []
watching = False


def watch(event: str, arguments: tuple[Any, ...]) -> None:
    # For a syntax error, Python's parser tries to open the file that it thinks it reads, which has this name.
    if watching and event.startswith(FORBIDDEN) and not (event == "open" and arguments[0] == "<unknown>"):
        events.append(f"{event} {arguments!r}"[:200])


def peak() -> int:
    """The most memory that this process has held, in bytes; `ru_maxrss` counts what its parent held at the fork."""
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith("VmHWM:"))
    return int(line.split()[1]) << 10


def main() -> None:
    global watching
    import numpy as np

    from rlx_base.errors import RlxError, TextError
    from rlx_ir import Limits, Module, Resolver, parse, print_module, program_digest, read_rlxz
    from rlx_ir.constants.safetensors import write_safetensors
    from rlx_ir.op import OPS, make

    weights = write_safetensors({"w": np.ones((4, 3, 3, 3), np.float32), "v": np.ones(4, np.float32)})
    brain = b"\x3d\0\0\0\0\0\0\0" + b'{"b":{"dtype":"BF16","shape":[1],"data_offsets":[0,2]}}      \0\0'
    files = {"w.safetensors": weights, "bad.safetensors": b"12345678", "brain.safetensors": brain}

    def resolver(name: str, /) -> bytes:
        if name not in files:
            raise TextError("E042", name=name)
        return files[name]

    wide = Limits(tokens=10**8, lines=10**8, bytes=10**9)  # the canonical text may be the longer one

    def read(kind: str, content: bytes) -> tuple[str, Callable[[], None]]:
        """What becomes of a text, and a check of what came out, which is not part of its time."""
        try:
            if kind == "z":
                package = read_rlxz(content)
                text, source = package.text, package.resolver
            else:
                text, source = content, None if content.startswith(b"# alone") else resolver
            module = parse(text, resolver=source)
        except RlxError as error:
            refused = error
            return error.code.removeprefix("RLX-"), lambda: check_error(refused, content.decode(errors="replace"))
        return "parsed", lambda: check_module(module, source)

    def check_error(error: RlxError, text: str) -> None:
        assert error.message
        assert error.help
        assert error.code in error.render(text)

    def check_module(module: Module, source: Resolver | None) -> None:
        canonical = print_module(module)
        assert print_module(parse(canonical, resolver=source, limits=wide)) == canonical

    # Everything that reading loads late is loaded before the watch begins.
    warm = "@rlx.module\ndef main():\n    x = rlx.constant(value=np.random.randn(3))\n    return x.sum() + rlx.rel(x)\n"
    read("t", warm.encode())
    program_digest(parse(warm.replace(" + rlx.rel(x)", "")))
    read("z", b"PK")
    for kind in OPS.values():  # the types of attributes are looked up at an op's first use
        with suppress(RlxError):
            make(kind, {})

    sys.addaudithook(watch)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    requests, answers = sys.stdin.buffer, sys.stdout
    while head := requests.read(9):
        kind, length = head[:1].decode(), int(head[1:])
        content = requests.read(length)
        events.clear()
        seconds, start = 0.0, time.process_time()
        watching = True
        try:
            outcome, check = read(kind, content)
            seconds = time.process_time() - start
            check()
        except BaseException as unexpected:  # that it is raised is what the parent has to learn
            outcome = f"crash {type(unexpected).__name__}: {unexpected}"[:300]
        watching = False
        answer = {
            "outcome": outcome,
            "seconds": seconds,
            "peak": peak(),
            "events": events,
        }
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
