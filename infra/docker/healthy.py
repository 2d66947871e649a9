#!/opt/rlx/bin/python -IS
"""The health check of a container, made of few imports since it is started every few seconds.

`healthy http PORT PATH` asks the service in this container; `healthy connected PORT` looks for an established
connection to that port of another container: a compile worker listens to nobody, and is well while the broker hears it.
"""

import socket
import sys
from pathlib import Path

ESTABLISHED = "01"


def answers(port: int, path: str) -> bool:
    """Whether GET `path` is answered with 200."""
    with socket.create_connection(("127.0.0.1", port), timeout=2) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        return connection.recv(64).split()[1] == b"200"


def connected(port: int) -> bool:
    """Whether the kernel's table of TCP connections has one to `port`."""
    tables = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
    rows = (row.split() for table in tables if table.exists() for row in table.read_text().splitlines()[1:])
    return any(row[3] == ESTABLISHED and int(row[2].rpartition(":")[2], 16) == port for row in rows)


if __name__ == "__main__":
    _, kind, port, *rest = sys.argv
    sys.exit(0 if (answers(int(port), *rest) if kind == "http" else connected(int(port))) else 1)
