"""The stack that the page is tested against: `stack.py PORT` runs it from that port on, until it is told to end."""

import signal
import sys
import tempfile
from pathlib import Path

from rlx.stack import Ports, StackSettings, running

if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with (
        tempfile.TemporaryDirectory(prefix="rlx-web-") as folder,
        running(StackSettings(data=Path(folder), ports=Ports.from_base(int(sys.argv[1])))),
    ):
        signal.pause()
