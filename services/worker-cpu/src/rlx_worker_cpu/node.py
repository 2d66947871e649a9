"""`rlx-node`: a node with the CPU of this machine as its device."""

from __future__ import annotations

from rlx_node.main import run_node

__all__ = ["main"]


def main() -> None:
    run_node("rlx-node", kinds=("cpu",))


if __name__ == "__main__":
    main()
