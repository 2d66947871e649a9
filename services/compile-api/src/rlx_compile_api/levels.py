"""The CPU that code is compiled for when a job names none: the greatest level that every node has."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

import httpx
from pydantic import ValidationError

from rlx_wire.cpu import LEVELS
from rlx_wire.nodes import NodesView

__all__ = ["CpuChoice", "common_level", "levels_from_gss"]

CpuChoice = Callable[[], str]
log = logging.getLogger(__name__)


def common_level(levels: Iterable[str]) -> str | None:
    """The greatest level among those that all CPUs in `levels` have; None without CPUs, or for mixed machines."""
    known = [LEVELS[level] for level in levels if level in LEVELS]
    if len({level.machine for level in known}) != 1:
        return None
    features = frozenset.intersection(*(level.features for level in known))
    fitting = [one for one in LEVELS.values() if one.machine == known[0].machine and one.features <= features]
    return max(fitting, key=lambda one: len(one.features)).name if fitting else None


def levels_from_gss(gss: httpx.Client, fallback: str) -> CpuChoice:
    """Asks the GSS for its nodes each time; while it does not answer, or knows none, the answer is `fallback`."""

    def choose() -> str:
        try:
            view = NodesView.model_validate_json(gss.get("/v1/nodes").raise_for_status().content)
        except (httpx.HTTPError, ValidationError) as error:
            log.warning("the GSS at %s was not asked for CPUs: %s", gss.base_url, error)
            return fallback
        runners = (node.record for node in view.nodes if node.liveness != "down" and node.record.runs)
        return common_level(node.capabilities.cpu for node in runners) or fallback

    return choose
