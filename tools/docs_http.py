"""The page of the HTTP APIs, from their own OpenAPI descriptions."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rlx_node.app import create_actor, create_app
from rlx_node.settings import NodeSettings

__all__ = ["page"]

ROOT = Path(__file__).parents[1]

HEAD = """# HTTP

Two services answer: **compile-api** (port 8000: models, jobs, artifacts, deployments; it passes `/v2` and `/v1/infer`
on, so one URL is enough) and every **node** (port 8080 with `rlx run`: inference in the [Open Inference
Protocol](https://github.com/open-inference/open-inference-protocol), and the state of the cluster). Both describe
themselves at `/openapi.json` and `/docs`.

With a key set, every route but health asks for it: `Authorization: Bearer KEY`. Errors are `application/problem+json`
with the [code](errors.md) of the error. Lists come in pages: pass `next` of one as `cursor` of the following.
"""


def page() -> str:
    api = json.loads((ROOT / "services/compile-api/openapi.json").read_text(encoding="utf-8"))
    parts = [HEAD, "## compile-api\n", *_routes(api), "## Nodes\n", *_routes(_node())]
    return "\n".join(parts)


def _node() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        settings = NodeSettings(data_folder=Path(folder), node="node")
        return create_app(create_actor(settings, kinds=())).openapi()


def _routes(description: Mapping[str, Any]) -> Iterator[str]:
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            text = operation.get("description") or operation.get("summary") or ""
            yield f"### `{method.upper()} {path}`\n\n{text.strip()}\n"
            yield from _parameters(operation)
            yield from _bodies(operation)


def _parameters(operation: Mapping[str, Any]) -> Iterator[str]:
    for parameter in operation.get("parameters", ()):
        needed = ", required" if parameter.get("required") else ""
        about = parameter.get("description", "")
        yield f"- `{parameter['name']}` ({parameter['in']}{needed}) {about}".rstrip() + "\n"


def _bodies(operation: Mapping[str, Any]) -> Iterator[str]:
    body = operation.get("requestBody", {}).get("content", {})
    for kind, content in body.items():
        yield f"Takes `{kind}`: {_name(content.get('schema', {}))}.\n"
    for status, answer in operation.get("responses", {}).items():
        kinds = [_name(content.get("schema", {})) for content in answer.get("content", {}).values()]
        if status.startswith("2"):
            yield f"Answers {status}: {', '.join(filter(None, kinds)) or answer.get('description', '')}.\n"


def _name(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        return f"`{schema['$ref'].rpartition('/')[2]}`"
    return f"`{schema.get('title') or schema.get('type') or 'anything'}`"
