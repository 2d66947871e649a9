"""`rlx up` with small programs for services: `python run_programs.py DATA PORT_BASE`, for tests that signal it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from programs import program

from rlx.stack import Ports, StackSettings, control
from rlx.stack.supervisor import Service


def services(settings: StackSettings) -> list[Service]:
    return [program("first", settings.data, 0), program("second", settings.data, 1, "orphan")]


control.services = services
control.up(
    StackSettings(data=Path(sys.argv[1]), ports=Ports.from_base(int(sys.argv[2]))),
    announce=lambda line: print(line, flush=True),
)
