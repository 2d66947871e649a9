"""Which models should be where, as compile-api last said it: long-polled, and kept on disk for a start
without it.
"""

from __future__ import annotations

import httpx
from pydantic import ValidationError

from rlx_base.errors import ClusterError
from rlx_node.memory import NodeMemory
from rlx_wire.api import Deployment, DeploymentList

__all__ = ["DeploymentWatch"]


class DeploymentWatch:
    """`poll` is one step; the actor repeats it."""

    def __init__(self, api: str | None, http: httpx.AsyncClient, memory: NodeMemory) -> None:
        self._api = api
        self._http = http
        self._memory = memory
        self._known = memory.deployments

    @property
    def items(self) -> tuple[Deployment, ...]:
        return self._known.items if self._known is not None else ()

    async def poll(self, wait: float = 20.0) -> bool:
        """Waits for a change, at most `wait` seconds; whether there was one. Raises E506."""
        if self._api is None:
            raise ClusterError("E506", url="(none)", reason="cluster.api is not set")
        params = {} if self._known is None else {"version": self._known.version, "wait": wait}
        try:
            answer = await self._http.get(
                f"{self._api.rstrip('/')}/v1/deployments",
                params=params,
                timeout=httpx.Timeout(wait + 5, connect=1.0),
            )
            answer.raise_for_status()
            news = DeploymentList.model_validate_json(answer.content)
        except (httpx.HTTPError, ValidationError) as error:
            raise ClusterError("E506", url=self._api, reason=str(error) or type(error).__name__) from error
        if news == self._known:
            return False
        self._known = self._memory.deployments = news
        return True
