"""Where a replica keeps its records so that it finds them again after a restart: a hash in its own Redis.

Redis is a memory, not the authority: each node reports twice a second and registers again when it is not
known, so an emptied or unreachable Redis costs nothing but the view right after a restart.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

from pydantic import ValidationError
from redis.asyncio import Redis
from redis.exceptions import RedisError

from rlx_base.errors import ClusterError
from rlx_wire.nodes import NodeRecord

__all__ = ["NodeStore", "RedisStore"]

_NODES: Final = "rlx:gss:nodes"


class NodeStore(Protocol):
    """Keeps records. Each method raises E508 where it cannot."""

    async def load(self) -> list[NodeRecord]: ...

    async def save(self, records: Mapping[str, NodeRecord]) -> None: ...

    async def close(self) -> None: ...


class RedisStore:
    """Records as JSON in one Redis hash (commands of Redis 6.2)."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._redis = Redis.from_url(url, socket_connect_timeout=2, socket_timeout=2)

    async def load(self) -> list[NodeRecord]:
        try:
            rows = await self._redis.hgetall(_NODES)
        except (RedisError, OSError) as error:
            raise self._unreadable(error) from error
        records = []
        for text in rows.values():
            try:
                records.append(NodeRecord.model_validate_json(text))
            except ValidationError:
                # Written by another release: the node's next report replaces it.
                continue
        return records

    async def save(self, records: Mapping[str, NodeRecord]) -> None:
        if not records:
            return
        try:
            await self._redis.hset(_NODES, mapping={k: r.model_dump_json() for k, r in records.items()})
        except (RedisError, OSError) as error:
            raise self._unreadable(error) from error

    async def close(self) -> None:
        await self._redis.aclose()

    def _unreadable(self, error: Exception) -> ClusterError:
        # A password in the URL is nobody's business.
        return ClusterError("E508", reason=f"{type(error).__name__}: {error}", url=self._url.rpartition("@")[2])
