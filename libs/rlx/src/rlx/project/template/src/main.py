"""A node that serves the models of this project over HTTP, until Ctrl-C or SIGTERM."""

import argparse
from pathlib import Path

from model import classifier

import rlx

ROOT = Path(__file__).parent.parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", type=Path, default=ROOT / "configs" / "local.yaml")
    parser.add_argument("--node", help="this node's id in the file's cluster.nodes")
    given = parser.parse_args()
    rlx.serve(classifier, ROOT / "models" / "resnet18.rlx", config=given.config, node=given.node)


if __name__ == "__main__":
    main()
