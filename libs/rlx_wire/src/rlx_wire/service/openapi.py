"""The description of a service that is committed beside its code: FastAPI's, with RLX's refusals and keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, Literal

from fastapi import FastAPI
from fastapi.routing import APIRoute
from pydantic import BaseModel

from rlx_wire.problem import PROBLEM_MEDIA_TYPE, Problem

__all__ = ["describe", "file", "request_body", "unique_id"]

_METHODS: Final = frozenset({"get", "put", "post", "delete", "head", "options", "patch", "trace"})
_SCHEMES: Final[dict[str, Any]] = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "header": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
}
_PROBLEM: Final[dict[str, Any]] = {
    "description": "Why the request was refused.",
    "content": {PROBLEM_MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
}


def unique_id(route: APIRoute) -> str:
    """The name of an operation: its function's, and what its path has that a shorter one of the same function has not.

    A function that answers with and without a version in the path is two operations.
    """
    versioned = "/versions/{version}/" in f"{route.path_format}/" and not route.name.endswith("version")
    return f"{route.name}_of_version" if versioned else route.name


def request_body(body: type[BaseModel]) -> dict[str, Any]:
    """`openapi_extra` of a route that reads its body itself, as it streams in; `describe` is given the model too."""
    schema = {"$ref": f"#/components/schemas/{body.__name__}"}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def file(media_type: str, description: str, **others: str) -> dict[int | str, dict[str, Any]]:
    """`responses` of a route that answers with a file; `others` are statuses without a body, as `_304="…"`."""
    content = {media_type: {"schema": {"type": "string", "format": "binary"}}}
    bodiless: dict[int | str, dict[str, Any]] = {
        int(status.removeprefix("_")): {"description": text} for status, text in others.items()
    }
    return {200: {"description": description, "content": content}, **bodiless}


def describe(
    app: FastAPI,
    *,
    is_open: Callable[[str, str], bool],
    bodies: tuple[type[BaseModel], ...] = (),
) -> None:
    """Completes `app.openapi()`: every refusal is a `Problem`, and whatever is not open to strangers needs a key.

    `is_open` gives for method and path whether strangers may ask, and `bodies` are those that routes read themselves.
    """
    plain = app.openapi

    def described() -> dict[str, Any]:
        fresh = app.openapi_schema is None
        schema = plain()
        if fresh:
            _complete(schema, is_open, bodies)
        return schema

    # The way that FastAPI's documentation names for an extended description.
    app.openapi = described  # type: ignore[method-assign]


def _complete(
    schema: dict[str, Any],
    is_open: Callable[[str, str], bool],
    bodies: tuple[type[BaseModel], ...],
) -> None:
    components = schema.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    for replaced in ("HTTPValidationError", "ValidationError"):
        schemas.pop(replaced, None)
    _add(schemas, Problem, "serialization")
    for body in bodies:
        _add(schemas, body, "validation")
    components["securitySchemes"] = _SCHEMES
    for method, path, operation in _operations(schema):
        operation["responses"].pop("422", None)
        operation["responses"]["default"] = _PROBLEM
        operation["security"] = [] if is_open(method, path) else [{name: []} for name in _SCHEMES]


def _add(schemas: dict[str, Any], model: type[BaseModel], mode: Literal["validation", "serialization"]) -> None:
    """Adds a model with those that it is made of."""
    schema = model.model_json_schema(mode=mode, ref_template="#/components/schemas/{model}")
    inner = schema.pop("$defs", {})
    # What FastAPI described itself stays as it is.
    schemas |= {name: shape for name, shape in {**inner, model.__name__: schema}.items() if name not in schemas}


def _operations(schema: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, item in schema["paths"].items():
        for method, operation in item.items():
            if method in _METHODS:
                yield method.upper(), path, operation
