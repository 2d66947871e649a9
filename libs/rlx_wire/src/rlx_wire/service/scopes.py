"""Which scope opens which route of compile-api, the scheduler and the nodes.

What no row names is for `admin`: a new route is closed until it is listed here.
"""

from __future__ import annotations

import re
from typing import Final

from rlx_wire.access import Scope

__all__ = ["scopes_for"]


def _rule(methods: str, path: str, *scopes: Scope) -> tuple[re.Pattern[str], re.Pattern[str], frozenset[Scope]]:
    return re.compile(methods), re.compile(path), frozenset(scopes)


# The first row that fits counts.
_RULES: Final = (
    _rule(r".*", r"/v1/keys(/.*)?", "admin"),
    _rule(r".*", r"/v1/tasks/.*", "worker"),
    _rule(r"GET", r"/v1/(sources|artifacts|deployments|nodes?)(/.*)?", "read", "worker"),
    _rule(r"POST", r"/v1/infer", "infer"),
    _rule(r"POST", r"/v2/repository/index", "infer", "read"),
    _rule(r"POST", r"/v2/models/.*/infer", "infer"),
    _rule(r"GET", r"/v2(/.*)?", "infer", "read"),
    _rule(r"POST", r"/v1/profiles", "compile", "worker"),
    _rule(r"POST", r"/v1/(compile|models/[^/]*/versions|jobs/[^/]*/cancel)", "compile"),
    _rule(r"PUT|DELETE", r"/v1/deployments/[^/]*", "compile"),
    _rule(r"GET|DELETE", r"/v1/session", "read", "compile", "infer", "worker"),
    _rule(r"GET", r"/(v1|docs|openapi\.json)(/.*)?", "read"),
)
_ADMIN: Final[frozenset[Scope]] = frozenset({"admin"})


def scopes_for(method: str, path: str) -> frozenset[Scope]:
    """The scopes of which a caller needs one, besides `admin`, which is always enough."""
    for methods, paths, scopes in _RULES:
        if methods.fullmatch(method) and paths.fullmatch(path):
            return scopes
    return _ADMIN
