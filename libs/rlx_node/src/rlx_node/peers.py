"""Other nodes, as this one asks them: one hop, one deadline, and their refusals raised as they raised them."""

from __future__ import annotations

from typing import Final

import httpx
from pydantic import ValidationError

from rlx_base.errors import ClusterError, RequestError, RlxError
from rlx_wire.inference import InferRequest, InferResponse
from rlx_wire.nodes import NodeRecord
from rlx_wire.problem import Problem
from rlx_wire.service.logs import REQUEST_ID_HEADER

__all__ = ["FORWARDED_HEADER", "TIMEOUT_HEADER", "Peers", "raised"]

FORWARDED_HEADER: Final = "RLX-Forwarded"
"""The node that passed the request on. Whoever gets it runs the request or refuses, and passes nothing on."""

TIMEOUT_HEADER: Final = "RLX-Timeout-Ms"
"""Milliseconds that are left for the request: a duration, since clocks differ."""

# A node that cannot be connected to within this is as good as gone: the next candidate is asked.
_CONNECT_S: Final = 1.0
# The node itself refuses what is late, and says in which phase; its answer needs a moment to arrive.
_GRACE_S: Final = 0.25


class Peers:
    """Connections to other nodes, reused."""

    def __init__(self, http: httpx.AsyncClient, here: str) -> None:
        self._http = http
        self._here = here

    async def infer(self, node: NodeRecord, request: InferRequest, request_id: str, seconds: float) -> InferResponse:
        """Has `node` run the request. Raises what it answers; E503 where it does not; E417 after `seconds`."""
        headers = {
            "Content-Type": "application/json",
            FORWARDED_HEADER: self._here,
            TIMEOUT_HEADER: str(max(1, round(seconds * 1e3))),
            REQUEST_ID_HEADER: request_id,
        }
        timeout = httpx.Timeout(seconds + _GRACE_S, connect=min(seconds, _CONNECT_S))
        try:
            answer = await self._http.post(
                f"{node.addresses.http}/v1/infer",
                content=request.model_dump_json(exclude_none=True),
                headers=headers,
                timeout=timeout,
            )
        except httpx.ConnectTimeout as error:
            raise ClusterError("E503", node=node.id, reason="no connection in time") from error
        except httpx.TimeoutException as error:
            limit = f"{seconds * 1e3:.0f} ms"
            setting = "network.latency_budget_ms or the client's timeout"
            raise RequestError("E417", phase="transfer", limit=limit, setting=setting) from error
        except httpx.HTTPError as error:
            raise ClusterError("E503", node=node.id, reason=str(error) or type(error).__name__) from error
        if not answer.is_success:
            raise raised(answer, node.id)
        try:
            return InferResponse.model_validate_json(answer.content)
        except ValidationError as error:
            reason = f"its answer is not one: {error.errors()[0]['msg']}"
            raise ClusterError("E503", node=node.id, reason=reason) from error

    async def get(self, node: NodeRecord, path: str) -> bytes:
        """What `node` answers to a GET. Raises as `infer` does."""
        try:
            answer = await self._http.get(
                node.addresses.http + path,
                headers={FORWARDED_HEADER: self._here},
                timeout=httpx.Timeout(5.0, connect=_CONNECT_S),
            )
        except httpx.HTTPError as error:
            raise ClusterError("E503", node=node.id, reason=str(error) or type(error).__name__) from error
        if not answer.is_success:
            raise raised(answer, node.id)
        return answer.content


def raised(answer: httpx.Response, node: str) -> RlxError:
    """The error that an answer carries; E503 for one that carries none."""
    try:
        return Problem.model_validate_json(answer.content).to_error()
    except ValidationError:
        return ClusterError("E503", node=node, reason=f"it answers {answer.status_code} and says nothing more")
