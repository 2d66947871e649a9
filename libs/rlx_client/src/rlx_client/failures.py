"""What went wrong, as an error of RLX: the service's own words, or what the network said."""

from __future__ import annotations

from typing import Final

import httpx
from pydantic import ValidationError

from rlx_base.errors import ClusterError, RequestError, RlxError
from rlx_client.timeouts import Timeouts
from rlx_wire.problem import Problem

__all__ = ["BUSY", "another_may_answer", "of_answer", "of_network"]

BUSY: Final = frozenset({429, 503})
"""Statuses after which it is worth asking the same again in a moment."""

_ELSEWHERE: Final = frozenset({502, 503})


def of_answer(answer: httpx.Response, url: str) -> RlxError:
    """The error that an answer carries, raised by its code's class."""
    try:
        return Problem.model_validate_json(answer.content).to_error()
    except ValidationError:
        return ClusterError("E513", url=url, reason=f"it answers {answer.status_code} and says nothing more")


def of_network(error: httpx.HTTPError, url: str, timeouts: Timeouts) -> RlxError:
    """E417 for what took too long, with its phase; E513 for what did not come about."""
    for kind, phase, limit in (
        (httpx.ConnectTimeout, "connect", timeouts.connect),
        (httpx.WriteTimeout, "transfer", timeouts.transfer),
        (httpx.ReadTimeout, "compute", timeouts.compute),
    ):
        if isinstance(error, kind):
            setting = f"the client's timeout ({phase})"
            return RequestError("E417", phase=phase, limit=f"{limit:g} s", setting=setting)
    return ClusterError("E513", url=url, reason=str(error) or type(error).__name__)


def another_may_answer(error: RlxError, network: httpx.HTTPError | None) -> bool:
    """Whether the next endpoint is worth asking: this one is gone, overloaded or draining; its answer is not final.

    Every call of the client can be repeated: the same model, job or deployment posted twice is one.
    """
    if network is not None:
        return not isinstance(network, httpx.ReadTimeout | httpx.WriteTimeout)
    return error.status in _ELSEWHERE
