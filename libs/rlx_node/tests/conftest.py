"""The cluster that every test of a node starts from."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.nodes import Cluster, Node, bundle, deployment


@pytest.fixture
async def cluster(tmp_path: Path) -> Cluster:
    folder = tmp_path / "nodes"
    folder.mkdir()
    return Cluster(folder)


@pytest.fixture
async def node(cluster: Cluster, tmp_path: Path) -> Node:
    """One node that serves model `m`, version 1, on llvm (y = 2x) and c (y = 3x)."""
    node = cluster.join("a")
    await cluster.start()
    bundles = (bundle(tmp_path, 2, "llvm"), bundle(tmp_path, 3, "c"))
    cluster.api.deploy(deployment("m", 1, *bundles), bundles=bundles)
    await node.deployed()
    return node
