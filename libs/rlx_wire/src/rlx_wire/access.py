"""API keys: what one may do, and how it is made, listed and revoked.

| call | request → answer |
|---|---|
| `POST /v1/keys` | `KeyRequest` → 201 `NewApiKey`, the only answer that holds the key itself |
| `GET /v1/keys`, `/{id}` | `Page[ApiKey]`, `ApiKey` |
| `DELETE /v1/keys/{id}` | 204; the key opens nothing from then on |
| `GET /v1/session` | `Access`: what the key it is asked with opens |

All but the last need the scope `admin`. The key in `RLX_API_KEY` is not in this list: it has every scope, and the
services of one RLX show it to each other.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Final, Literal, get_args

from pydantic import Field, StringConstraints, field_validator

from rlx_wire.api import Answer, Request

__all__ = ["KEY_FORM", "SCOPES", "Access", "ApiKey", "KeyRequest", "NewApiKey", "Scope"]

Scope = Literal["read", "compile", "infer", "worker", "admin"]
"""What a key opens.

- `read`: everything that can be looked at, but keys
- `compile`: uploads, compile jobs, deployments, profiles
- `infer`: inference, and the models that can be asked
- `worker`: what compile workers and nodes ask of compile-api
- `admin`: all of these, and keys
"""

SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)

KEY_FORM: Final = re.compile(r"rlx_([0-9a-f]{24})_([0-9a-f]{64})")
"""A key: the id that finds its row, and 256 random bits."""

KeyName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._@/-]{0,127}$")]


class KeyRequest(Request):
    """A new key. `name` says whose it is, or what it is for."""

    name: KeyName
    scopes: tuple[Scope, ...] = Field(min_length=1, max_length=16)

    @field_validator("scopes")
    @classmethod
    def _each_scope_once(cls, scopes: tuple[Scope, ...]) -> tuple[Scope, ...]:
        return tuple(scope for scope in SCOPES if scope in scopes)


class ApiKey(Answer):
    """A key as it is listed: everything but the key."""

    id: str
    name: KeyName
    scopes: tuple[Scope, ...]
    created_at: datetime


class NewApiKey(ApiKey):
    """The answer to its creation. `key` is stored nowhere: whoever loses it makes another one."""

    key: str


class Access(Answer):
    """Who asks, by the id of the key (`root`: the one of the settings), and what the key opens."""

    id: str
    scopes: tuple[Scope, ...]
