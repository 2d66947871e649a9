"""The executor: one process per device that holds the thread team and the loaded bundles, and does all the computing.

The node's event loop talks to it over a local socket, and tensors pass through shared memory. A kernel that
crashes takes this process down and nothing else; it is started again and loads its bundles again.

```
Executor (client.py)            in the node: bounds what is in flight, copies tensors, restarts the process
  ExecutorProcess (process.py)  one life of the process: spawn, requests and replies, how it ended
    ── protocol.py ──           frozen messages as JSON, one a packet; memory by file descriptor
  Server (server.py)            in the process: reads messages, loads bundles, computes on its own thread
```
"""
