"""Which nodes become one kernel: an elementwise op is computed where its operand is, in registers, before it is stored.

`relu(conv(x) + residual)` is then one pass over memory. A producer joins its reader where the reader alone uses it,
place by place. Whether that pays is decided from the memory that the value would live in: what its traffic costs
against what keeping the fused parts coherent costs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from rlx_compiler.lowering.blocks import Blocks
from rlx_compiler.lowering.expressions import is_epilogue_of, node_stages
from rlx_compiler.lowering.substitute import count_nodes, depth, inline, reduces
from rlx_compiler.targets.spec import MemorySpace, TargetSpec
from rlx_ir.expr import Tensor
from rlx_ir.module import Module, Node
from rlx_ir.op import runs_on_host

__all__ = ["FusionChoice", "Group", "groups_of", "worth"]

_LARGEST_BODY = 400  # nodes of an expression: the code it makes grows with it
_DEEPEST_BODY = 64  # so do the live values, and the recursion of everything that walks it
_NAMED = 4  # ops in the name of a kernel
_USUAL_BANDWIDTH = 20e9
_SYNC_SECONDS = {"MESI": 0.0, "MOESI": 0.0, "host": 1e-6, "none": 20e-6}


@dataclass(frozen=True, slots=True)
class FusionChoice:
    """One decision, with the figures it came from, for the compile report."""

    producer: str
    consumer: str
    fused: bool
    reason: str


@dataclass(slots=True)
class Group:
    """Nodes that become one step of the plan: their stages in order, the last of which gives `value`s of the module.

    With `blocks` the stages are one kernel. A node that the host computes is a group of its own, without stages.
    """

    nodes: list[Node]
    stages: list[Tensor]
    choices: list[FusionChoice] = field(default_factory=list)
    blocks: Blocks | None = None

    @property
    def name(self) -> str:
        """The ops, in order; of a long chain the first ones."""
        names: list[str] = []
        for node in self.nodes:
            if not names or names[-1] != node.op.name:
                names.append(node.op.name)
        more = [f"{len(names) - _NAMED}_more"] if len(names) > _NAMED else []
        return "_".join([*names[:_NAMED], *more])


def groups_of(module: Module, spec: TargetSpec, *, fuse: bool) -> list[Group]:
    """The module's nodes as groups, each after those whose values it reads."""
    owner: dict[str, Group] = {}
    groups: list[Group] = []
    for node in module.nodes:
        if runs_on_host(node.op, (*module.operand_types(node), *(result.tensor for result in node.results))):
            groups.append(Group([node], []))
            continue
        group = Group([node], node_stages(module, node))
        if fuse:
            _take_producers(module, spec, group, owner)
        groups.append(group)
        for result in node.results:
            owner[result.name] = group
    return [group for group in groups if group.nodes]


def _take_producers(module: Module, spec: TargetSpec, group: Group, owner: Mapping[str, Group]) -> None:
    """Move into the group every producer that it alone reads, place by place; at most one that has reductions.

    A value may be read by several nodes of the group: `x · Φ(x)` takes the product that gives x once it holds both.
    """
    if len(group.stages) != 1 or len(group.nodes[-1].results) != 1:
        return
    refused: set[str] = set()
    while (name := _next_producer(module, group, owner, refused)) is not None:
        producer, reader = owner[name], group.stages[-1]
        last = producer.stages[-1]
        assert reader.body is not None
        body = inline(reader.body, last)
        if count_nodes(body) > _LARGEST_BODY or depth(body) > _DEEPEST_BODY:
            refused.add(name)
            continue
        pays, reason = worth(module, name, spec)
        group.choices.append(FusionChoice(name, group.nodes[-1].name, pays, reason))
        if not pays:
            refused.add(name)
            continue
        fused = Tensor(reader.name, reader.shape, reader.dtype, reader.axes, body)
        group.stages = [*producer.stages[:-1], *group.stages[:-1], fused]
        group.choices = [*producer.choices, *group.choices]
        group.nodes = [*producer.nodes, *group.nodes]
        producer.nodes = []


def _next_producer(module: Module, group: Group, owner: Mapping[str, Group], refused: Collection[str]) -> str | None:
    """A value that only the group reads, each element once and where it is computed; those that are sums first."""
    reader = group.stages[-1]
    operands = Counter(name for node in group.nodes for name in node.operands if name is not None)
    found = [
        name
        for name, uses in operands.items()
        if name in owner
        and name not in refused
        and owner[name].nodes
        and owner[name] is not group
        and owner[name].stages[-1].name == name
        and len(owner[name].nodes[-1].results) == 1
        and module.uses[name] == uses
        and not (_has_sums(owner[name].stages[-1]) and _has_sums(reader))
        and is_epilogue_of(reader, owner[name].stages[-1])
    ]
    return min(found, key=lambda name: not _has_sums(owner[name].stages[-1]), default=None)


def _has_sums(tensor: Tensor) -> bool:
    return tensor.body is not None and bool(reduces(tensor.body))


def worth(module: Module, name: str, spec: TargetSpec) -> tuple[bool, str]:
    """Whether not storing a value pays: bytes saved ÷ bandwidth + latency, against what coherence costs."""
    type = module.tensor(name)
    size = type.dtype.itemsize
    for dim in type.shape:
        size *= dim if isinstance(dim, int) else 1
    affinity = type.affinity
    space = _space(spec, None if affinity is None else affinity.location)
    bandwidth = (affinity and affinity.bytes_per_second) or space.bandwidth or _USUAL_BANDWIDTH
    latency = (affinity and affinity.seconds_of_latency) or 0.0
    coherence = (affinity and affinity.coherence) or space.coherence
    saved = 2 * size / bandwidth + latency
    cost = _SYNC_SECONDS.get(coherence, 0.0)
    what = (
        f"saves {2 * size} bytes at {bandwidth / 1e9:.0f} GB/s and {latency * 1e9:.0f} ns: {saved * 1e6:.2f} us; "
        f"coherence {coherence} costs {cost * 1e6:.2f} us"
    )
    return saved > cost or cost == 0.0, what


def _space(spec: TargetSpec, location: str | None) -> MemorySpace:
    return next((space for space in spec.spaces if space.location == location), spec.spaces[0])
