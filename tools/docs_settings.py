"""The page of the settings, from the classes that read them."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from rlx_node.settings import NodeSettings
from tools.docs_language import table

__all__ = ["page"]

HEAD = """# Configuration

A node reads, in this order of growing strength: its defaults, the YAML file of `--config`, environment variables, and
options. The variable of a key is `RLX_`, the key in capitals, and `__` between the levels: `RLX_BIND_ADDR`,
`RLX_RUNTIME__THREADS`. A key that does not exist is refused, with the nearest one that does. `rlx doctor --config FILE`
checks a file.

`rlx run` listens on `127.0.0.1:8080` where nothing else is said.
"""


def page() -> str:
    rows = list(_rows(NodeSettings, ""))
    return f"{HEAD}\n{table(('key', 'default', 'means'), rows)}\n"


def _rows(model: type[BaseModel], prefix: str) -> Iterator[tuple[str, str, str]]:
    for name, field in model.model_fields.items():
        key = f"{prefix}{name}"
        section = field.annotation
        if isinstance(section, type) and issubclass(section, BaseModel):
            yield f"**`{key}`**", "", inspect.cleandoc(section.__doc__ or "").split("\n\n")[0].replace("\n", " ")
            yield from _rows(section, f"{key}.")
        else:
            yield f"`{key}`", _default(field.default), field.description or ""


def _default(value: Any) -> str:
    if value is PydanticUndefined:
        return "this host"
    return "" if value is None else f"`{value}`"
