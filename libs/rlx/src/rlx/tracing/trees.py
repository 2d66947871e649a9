"""Arguments and results as trees: arrays and plain values inside lists, tuples and dicts."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from rlx.tracing.trace import cannot

__all__ = ["Hole", "Tree", "filled", "is_array", "kind_of", "leaves", "mapped"]

Tree: TypeAlias = Any


@dataclass(frozen=True, slots=True)
class Hole:
    """The place of an output in what the function returned."""

    name: str


def is_array(leaf: Any) -> bool:
    """Whether a leaf is traced; Python's own numbers are not."""
    return isinstance(leaf, np.ndarray | np.generic)


def mapped(tree: Tree, change: Callable[[str, Any], Any], path: str = "") -> Tree:
    """The tree with each leaf replaced. `change` hears the leaf's path as a name: `params_w`, `output0`."""
    match tree:
        case dict():
            return {key: mapped(value, change, _joined(path, key)) for key, value in tree.items()}
        case tuple() if hasattr(tree, "_fields"):
            return type(tree)(*(mapped(item, change, _joined(path, i)) for i, item in enumerate(tree)))
        case list() | tuple():
            return type(tree)(mapped(item, change, _joined(path, place)) for place, item in enumerate(tree))
    return change(path or "value", tree)


def leaves(tree: Tree, path: str = "") -> list[tuple[str, Any]]:
    """The leaves in order, each with its path."""
    found: list[tuple[str, Any]] = []

    def keep(path: str, leaf: Any) -> Any:
        found.append((path, leaf))
        return leaf

    mapped(tree, keep, path)
    return found


def filled(tree: Tree, values: Mapping[str, Any]) -> Tree:
    """The tree with its holes filled."""
    return mapped(tree, lambda _, leaf: values[leaf.name] if isinstance(leaf, Hole) else leaf)


def kind_of(tree: Tree) -> Hashable:
    """What a trace depends on: the structure, shape and dtype of arrays, and every other value itself."""
    match tree:
        case dict():
            return ("dict", *((key, kind_of(value)) for key, value in tree.items()))
        case list() | tuple():
            return (type(tree), *(kind_of(item) for item in tree))
    if is_array(tree):
        return ("array", tree.shape, tree.dtype.str)
    try:
        hash(tree)
    except TypeError:
        raise cannot(f"an argument of type {type(tree).__name__}", "its value cannot be remembered") from None
    return (type(tree), tree)


def _joined(path: str, key: Any) -> str:
    """A name for the item under `key`: a place in a sequence directly behind it, a key after `_`."""
    part = re.sub(r"\W", "_", str(key), flags=re.ASCII)
    if not path:
        return part if part.isidentifier() and part not in ("rlx", "np") else f"value_{part}"
    return f"{path}{part}" if isinstance(key, int) else f"{path}_{part}"
