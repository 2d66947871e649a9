"""The whole stack on this machine: what `rlx up`, `rlx status` and `rlx down` do.

The services are the same programs as in a cluster, run as child processes with SQLite and a real Redis on loopback.
`settings` says where and on which ports, `services` lists the programs, `supervisor` keeps them running, `state` lets
other processes find the stack, and `guard` ends everything if the supervisor itself is killed.
"""

from rlx.stack.control import down, status, up
from rlx.stack.running import running
from rlx.stack.settings import Ports, StackSettings
from rlx.stack.state import StackState

__all__ = ["Ports", "StackSettings", "StackState", "down", "running", "status", "up"]
