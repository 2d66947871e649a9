"""What passes are made of.

A pass is a frozen dataclass with a `name` and `apply(module) -> module`; modules in regions are rewritten first. Most
passes are a `Rewrite`: one idea about one node, tried at every node in order, with what stands before it already
rewritten.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rlx_base.dtypes import of_numpy
from rlx_ir.builder import infer
from rlx_ir.module import Computed, Constant, Module, Node, Value
from rlx_ir.op import Op
from rlx_ir.schedule import NO_SCHEDULE, Schedule
from rlx_ir.types import TensorType

__all__ = ["Pass", "Rewrite", "Rewriting"]


@dataclass(frozen=True)
class Pass:
    """A change of a module that keeps what it computes."""

    name: ClassVar[str]

    def apply(self, module: Module) -> Module:
        """The changed module, and in it the changed modules of its regions."""
        changed: dict[int, Module] = {}

        def everywhere(one: Module) -> Module:
            if id(one) not in changed:
                changed[id(one)] = self.transform(
                    one.map_nodes(
                        lambda node: (
                            replace(node, regions=tuple(map(everywhere, node.regions))) if node.regions else node
                        )
                    )
                )
            return changed[id(one)]

        return everywhere(module)

    def transform(self, module: Module) -> Module:
        """The change of one module alone."""
        raise NotImplementedError


class Rewriting:
    """A module on its way through a rewrite: what has been rebuilt so far, open to questions and additions."""

    def __init__(self, module: Module) -> None:
        self._source = module
        self._taken = set(module.types)
        self._nodes: list[Node] = []
        self._constants = dict(module.constant)
        self._types = {value.name: value.tensor for value in module.inputs}
        self._types |= {name: constant.type for name, constant in module.constant.items()}
        self._producers: dict[str, Node] = {}
        self._renamed: dict[str, str] = {}

    def type(self, name: str) -> TensorType:
        """The type of a value."""
        return self._types[name]

    def producer(self, name: str | None) -> Node | None:
        """The node that gives a value; None for an input, a constant or an absent operand."""
        return self._producers.get(name) if name is not None else None

    def array(self, name: str | None) -> NDArray[np.generic] | None:
        """The elements of a constant; None for anything else."""
        return self._constants[name].array() if name in self._constants else None

    def is_constant(self, name: str | None) -> bool:
        return name in self._constants

    def uses(self, name: str) -> int:
        """How often a value was used in the module as it was."""
        return self._source.uses.get(name, 0)

    def fresh(self, stem: str) -> str:
        """A name that nothing has."""
        name, count = stem, 0
        while name in self._taken:
            count += 1
            name = f"{stem}_{count}"
        self._taken.add(name)
        return name

    def constant(self, stem: str, elements: NDArray[np.generic], like: Constant | None = None) -> str:
        """A new constant; with `like`, one that is stored as that one."""
        frozen = np.ascontiguousarray(elements).reshape(elements.shape)
        frozen.flags.writeable = False
        type = TensorType(frozen.shape, of_numpy(frozen.dtype))
        if like is not None:
            type = replace(type, layout=like.type.layout, affinity=like.type.affinity)
        return self.adopt(Constant(self.fresh(stem), type, Computed(frozen)))

    def constant_at(self, name: str) -> Constant:
        """A constant by its name."""
        return self._constants[name]

    def adopt(self, constant: Constant) -> str:
        """Take over a constant under the name that it has, which must be free or `fresh`."""
        self._taken.add(constant.name)
        self._constants[constant.name] = constant
        self._types[constant.name] = constant.type
        return constant.name

    def add(
        self, op: Op, *operands: str | None, like: Node | None = None, stem: str = "", schedule: Schedule | None = None
    ) -> Sequence[str]:
        """A new node, and the names of its results.

        With `like` it replaces that node: its names, its declared layouts and affinities, its place in the text and,
        unless another is given, its schedule are taken over.
        """
        inferred = infer(op, [None if name is None else self._types[name] for name in operands], ())
        if like is not None:
            results = tuple(
                Value(old.name, replace(type, layout=old.tensor.layout, affinity=old.tensor.affinity), span=old.span)
                for old, type in zip(like.results, inferred, strict=True)
            )
            kept = like.schedule if schedule is None else schedule
            return self.append(Node(op, operands, results, kept, span=like.span))
        results = tuple(Value(self.fresh(stem or op.name), type) for type in inferred)
        return self.append(Node(op, operands, results, schedule or NO_SCHEDULE))

    def append(self, node: Node) -> Sequence[str]:
        """Add a node as it is, and give the names of its results."""
        self._nodes.append(node)
        for result in node.results:
            self._taken.add(result.name)
            self._types[result.name] = result.tensor
            self._producers[result.name] = node
        return [result.name for result in node.results]

    def current(self, node: Node) -> Node:
        """A node of the old module with its operands as they are called now."""
        operands = tuple(None if o is None else self._renamed.get(o, o) for o in node.operands)
        return node if operands == node.operands else replace(node, operands=operands)

    def replaced(self, old: Sequence[str], new: Sequence[str]) -> None:
        """Later uses of the old names mean the new ones."""
        self._renamed |= {a: b for a, b in zip(old, new, strict=True) if a != b}

    def finish(self) -> Module:
        """The rebuilt module."""
        outputs = tuple(replace(o, value=self._renamed.get(o.value, o.value)) for o in self._source.outputs)
        return replace(
            self._source, constants=tuple(self._constants.values()), nodes=tuple(self._nodes), outputs=outputs
        )


@dataclass(frozen=True)
class Rewrite(Pass):
    """A pass that replaces single nodes. `kinds` are the ops that it looks at; empty means all."""

    kinds: ClassVar[tuple[type[Op], ...]] = ()

    def transform(self, module: Module) -> Module:
        graph = Rewriting(module)
        for old in module.nodes:
            node = graph.current(old)
            found = None
            if not self.kinds or isinstance(node.op, self.kinds):
                found = self.rewrite(node, graph)
            if found is None:
                found = graph.append(node)
            graph.replaced([result.name for result in old.results], found)
        return graph.finish()

    def rewrite(self, node: Node, graph: Rewriting) -> Sequence[str] | None:
        """The values that stand for the node's results from now on, or None to keep the node."""
        raise NotImplementedError
