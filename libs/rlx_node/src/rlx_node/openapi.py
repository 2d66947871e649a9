"""`python -m rlx_node.openapi`: prints the description of the API that is committed beside the code.

Nodes and the scheduler answer the same routes.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from rlx_node.app import create_actor, create_app
from rlx_node.settings import NodeSettings

__all__ = ["main"]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        actor = create_actor(NodeSettings(node="node", data_folder=Path(folder)), kinds=())
        print(json.dumps(create_app(actor).openapi(), indent=1, sort_keys=True))


if __name__ == "__main__":
    main()
