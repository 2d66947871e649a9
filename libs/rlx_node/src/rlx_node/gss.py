"""A node's link to the GSS: it registers, reports its level, and asks who else is there.

Any replica is enough. Without one the node serves on with the view it has, and says so once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import httpx
from pydantic import ValidationError

from rlx_base.errors import ClusterError
from rlx_node.memory import NodeMemory
from rlx_node.view import ClusterView
from rlx_wire.nodes import NodeRegistered, NodeRegistration, NodeStatus, NodesView

__all__ = ["GssLink"]

_log = logging.getLogger("rlx.node")

_TIMEOUT = httpx.Timeout(2.0, connect=1.0)


class GssLink:
    """`beat` and `poll` are one step each; the actor repeats them."""

    def __init__(
        self,
        endpoints: list[str],
        http: httpx.AsyncClient,
        memory: NodeMemory,
        view: ClusterView,
        registration: Callable[[], NodeRegistration],
        status: Callable[[int, int], NodeStatus],
    ) -> None:
        self._endpoints = [endpoint.rstrip("/") for endpoint in endpoints]
        self._http = http
        self._memory = memory
        self._view = view
        self._registration = registration
        self._status = status
        self._sequence = 0
        self._known: NodesView | None = None
        self.incarnation = 0
        """This life, once a GSS has given one; 0 before."""
        self.heartbeat = 0.5

    async def beat(self) -> None:
        """One report, after a registration where the GSS does not know this life. Raises E502."""
        if not self.incarnation:
            await self._register()
        if await self._report() == 409:
            await self._register()
            await self._report()

    async def poll(self, wait: float = 10.0) -> None:
        """Waits for news of the cluster, at most `wait` seconds, and takes them in. Raises E502."""
        known = self._known
        params: dict[str, Any] = {}
        if known is not None:
            params = {"version": known.version, "epoch": known.epoch, "wait": wait}
        timeout = httpx.Timeout(wait + 5, connect=1.0)
        answer = await self._ask("GET", "/v1/nodes", params=params, timeout=timeout)
        try:
            self._known = NodesView.model_validate_json(answer.content)
        except ValidationError as error:
            raise self._unreachable(f"it answers what is no view: {error.errors()[0]['msg']}") from error
        self._view.absorb(self._known)

    async def leave(self) -> None:
        """Says goodbye, so that nobody has to find out. Raises E502."""
        if self.incarnation:
            node = self._registration().id
            await self._ask("DELETE", f"/v1/nodes/{node}", params={"incarnation": self.incarnation})

    async def _register(self) -> None:
        node = self._registration().model_copy(
            update={"last_incarnation": max(self._memory.incarnation, self.incarnation)}
        )
        answer = await self._ask("POST", "/v1/nodes", content=node.model_dump_json())
        try:
            registered = NodeRegistered.model_validate_json(answer.content)
        except ValidationError as error:
            raise self._unreachable(f"it does not register this node: {answer.text[:200]}") from error
        self.incarnation, self._sequence = registered.incarnation, 0
        self.heartbeat = registered.heartbeat_ms / 1e3
        self._memory.incarnation = self.incarnation
        _log.info("registered with the GSS as incarnation %d", self.incarnation)

    async def _report(self) -> int:
        self._sequence += 1
        status = self._status(self.incarnation, self._sequence)
        path = f"/v1/nodes/{self._registration().id}/status"
        return (await self._ask("PUT", path, content=status.model_dump_json())).status_code

    async def _ask(
        self, method: str, path: str, *, timeout: httpx.Timeout = _TIMEOUT, **request: Any
    ) -> httpx.Response:
        """The first replica's answer; those that fail go to the end of the line."""
        headers = {"Content-Type": "application/json"} if "content" in request else {}
        reason = "no endpoint is configured"
        for _ in range(len(self._endpoints)):
            try:
                answer = await self._http.request(
                    method, self._endpoints[0] + path, headers=headers, timeout=timeout, **request
                )
                # A 409 is an answer: it asks for a registration.
                if answer.status_code == 409 or answer.is_success:
                    return answer
                reason = f"it answers {answer.status_code}"
            except httpx.HTTPError as error:
                reason = _words(error)
            self._endpoints.append(self._endpoints.pop(0))
        raise self._unreachable(reason)

    def _unreachable(self, reason: str) -> ClusterError:
        return ClusterError(
            "E502",
            url=self._endpoints[0] if self._endpoints else "(none)",
            reason=reason,
            tried=", ".join(self._endpoints) or "none",
            retry=f"{self.heartbeat:g} s",
        )


def _words(error: httpx.HTTPError) -> str:
    """What users know it by, whatever the library's own words are."""
    text = str(error) or type(error).__name__
    if isinstance(error, httpx.ConnectTimeout | httpx.ReadTimeout):
        return "no answer in time"
    refused = isinstance(error, httpx.ConnectError) and "failed" in text.lower()
    return "connection refused" if refused else text
