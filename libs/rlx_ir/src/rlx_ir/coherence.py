"""Whether every value is read where it is coherent: `rlx verify --check memory_coherence`.

An op runs where its result is declared to live: on the host for `DDR` and `L2`, on a device for `HBM`, `VRAM`, `SRAM`
and `BRAM`, elsewhere for `REMOTE`; `UNIFIED` memory is everybody's, and so is a result without a declaration near its
operands. A read from another of these domains sees what was written there only where the value's `coherence` joins
the two (`MESI`, `MOESI`: hardware keeps copies equal; `host`: the runtime does, at launches), or where the reader is a
transfer: `identity`, which copies, and whose result lives elsewhere. Inputs and constants are brought to their reader.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from rlx_base.errors import VerifyError
from rlx_ir.affinity import MemoryAffinity
from rlx_ir.module import Module, Node

__all__ = ["Break", "check_coherence", "coherence_breaks"]

_DOMAINS: Final = {
    "DDR": "host",
    "L2": "host",
    "HBM": "device",
    "VRAM": "device",
    "SRAM": "device",
    "BRAM": "device",
    "REMOTE": "remote",
}
_JOINED: Final = frozenset({"MESI", "MOESI", "host"})
_TRANSFERS: Final = frozenset({"identity", "remote_call"})


@dataclass(frozen=True, slots=True)
class Break:
    """`reader` reads `value` in the domain `there`, where what `writer` wrote in `here` need not be seen."""

    value: str
    writer: Node
    reader: Node
    here: str
    there: str


def coherence_breaks(module: Module) -> Iterator[Break]:
    """Every pair of ops between which a transfer or a sync is missing, in the order of the readers."""
    for part in module.modules():
        yield from _breaks(part)


def check_coherence(module: Module) -> int:
    """How many reads were looked at. Raises E123 with the first pair that breaks coherence."""
    for found in coherence_breaks(module):
        raise VerifyError(
            "E123",
            at=found.reader.span,
            reader=found.reader.op.name,
            value=found.value,
            writer=found.writer.op.name,
            here=found.here,
            there=found.there,
        )
    return sum(1 for part in module.modules() for node in part.nodes for name in node.operands if name is not None)


def _breaks(module: Module) -> Iterator[Break]:
    writers = {result.name: node for node in module.nodes for result in node.results}
    domains: dict[str, str | None] = {}
    for node in module.nodes:
        domain = _domain_of(node, domains)
        for result in node.results:
            domains[result.name] = domain
        for name in dict.fromkeys(node.operands):
            if name is None or name not in writers or node.op.name in _TRANSFERS:
                continue
            here = domains[name]
            affinity = _affinity(writers[name])
            joined = affinity is not None and (affinity.coherence in _JOINED or affinity.location == "UNIFIED")
            if here is not None and domain is not None and here != domain and not joined:
                yield Break(name, writers[name], node, here, domain)


def _affinity(node: Node) -> MemoryAffinity | None:
    declared = [result.type.affinity for result in node.results if hasattr(result.type, "affinity")]
    return next((one for one in declared if one is not None), None)


def _domain_of(node: Node, domains: dict[str, str | None]) -> str | None:
    """Where an op runs: as declared, else where its operands were written, as far as they agree."""
    affinity = _affinity(node)
    if affinity is not None:
        return _DOMAINS.get(affinity.location)
    known = {domains[name] for name in node.operands if name is not None and domains.get(name) is not None}
    return known.pop() if len(known) == 1 else None
