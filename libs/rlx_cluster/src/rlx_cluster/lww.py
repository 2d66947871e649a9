"""The state of a cluster as a last-writer-wins map: node → record, merged by `(incarnation, sequence)`.

Each record is written by its own node, so two copies of it differ only in age, and the larger pair is the
newer one. Merging is commutative, associative and idempotent: replicas that exchange what they have, in any
order and any number of times, end with the same map.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from rlx_wire.nodes import NodeRecord, NodeRegistration, NodeStatus

__all__ = ["EMPTY", "Records", "later", "leave", "merge", "put", "register", "report"]

Records = Mapping[str, NodeRecord]
EMPTY: Final[Records] = MappingProxyType({})


def later(a: NodeRecord, b: NodeRecord) -> NodeRecord:
    """The newer of two records of one node.

    Two replicas that could not see each other may have given out the same incarnation. Then the contents
    decide, by a rule that all replicas share, so that they still agree.
    """
    if a.clock != b.clock:
        return max(a, b, key=lambda record: record.clock)
    return max(a, b, key=lambda record: (record.left, record.model_dump_json()))


def put(records: Records, record: NodeRecord) -> Records:
    """The map with this record in it, unless it holds a newer one."""
    known = records.get(record.id)
    newest = record if known is None else later(known, record)
    return records if newest is known else MappingProxyType({**records, record.id: newest})


def merge(a: Records, b: Records) -> Records:
    """All that both maps know."""
    for record in b.values():
        a = put(a, record)
    return a


def register(records: Records, node: NodeRegistration) -> NodeRecord:
    """The first record of a new life: its incarnation follows the largest that either side remembers."""
    known = records.get(node.id)
    seen = known.incarnation if known is not None else 0
    return NodeRecord(
        id=node.id,
        incarnation=max(seen, node.last_incarnation) + 1,
        addresses=node.addresses,
        capabilities=node.capabilities,
        devices=node.devices,
        version=node.version,
    )


def report(records: Records, node: str, status: NodeStatus) -> NodeRecord | None:
    """The node's record with this status, or None: not known in this life, so it has to register.

    A status that is older than the one held (a late duplicate) leaves the record as it is.
    """
    known = records.get(node)
    if known is None or known.left or known.incarnation != status.incarnation:
        return None
    if status.sequence <= known.sequence:
        return known
    return known.model_copy(update={"sequence": status.sequence, "status": status})


def leave(record: NodeRecord) -> NodeRecord:
    """The record of a node that said goodbye. It stays, so that an older copy elsewhere cannot bring the
    node back.
    """
    return record.model_copy(update={"sequence": record.sequence + 1, "left": True, "status": None})
