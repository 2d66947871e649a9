"""Says that a port is taken before anything starts, rather than in the log of a service that could not."""

from __future__ import annotations

import errno
import socket

from rlx.stack.settings import HOST, Ports
from rlx_base.errors import ClusterError

__all__ = ["check_ports"]


def is_free(port: int) -> bool:
    """Whether a service could listen there. Raises what the system says where the reason is another one."""
    with socket.socket() as listener:
        # As servers do: a connection of the last run that lingers is no obstacle.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return False
            raise
    return True


def check_ports(ports: Ports) -> None:
    """Raises E540, naming every port that is in use and the options that choose others."""
    busy = {name: port for name, port in ports.model_dump().items() if not is_free(port)}
    if busy:
        taken = ", ".join(f"{port} ({name})" for name, port in busy.items())
        options = " ".join(f"--{name}-port PORT" for name in busy)
        noun = "port is" if len(busy) == 1 else "ports are"
        raise ClusterError("E540", ports=taken, noun=noun, options=options)
