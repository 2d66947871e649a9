"""Small programs that stand for services: they write down what they do, and misbehave when asked to."""

import asyncio
import sys
from pathlib import Path

from rlx.stack.supervisor import Service

PROGRAM = """
import os, pathlib, signal, subprocess, sys, time
name, folder, habits = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
def note(what):
    with open(folder / "events", "a") as file:
        file.write(f"{name} {what}\\n")
def end(*_):
    note("ends")
    sys.exit()
signal.signal(signal.SIGTERM, signal.SIG_IGN if "stubborn" in habits else end)
if "orphan" in habits:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    (folder / "orphan").write_text(str(child.pid))
if "broken" in habits:
    print("I cannot work like this", flush=True)
    sys.exit(7)
note("starts")
(folder / f"{name}.pid").write_text(str(os.getpid()))
while True:
    time.sleep(600)
"""


def program(name: str, folder: Path, stage: int, *habits: str) -> Service:
    """A service that is ready once it has written its process id."""

    async def ready() -> bool:
        return await asyncio.to_thread((folder / f"{name}.pid").exists)

    command = (sys.executable, "-c", PROGRAM, name, str(folder), *habits)
    return Service(name, command, ready, stage, address=f"somewhere/{name}")


def events(folder: Path) -> list[str]:
    """What the programs wrote down, in order."""
    return (folder / "events").read_text().splitlines()


def pid(name: str, folder: Path) -> int:
    return int((folder / f"{name}.pid").read_text())
