"""Names of the model as names that a text can hold."""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping
from dataclasses import replace

from rlx_ir.module import Module

__all__ = ["identifier", "renamed"]


def identifier(name: str, absent: str = "value") -> str:
    """The nearest identifier: `layer.0/Conv` becomes `layer_0_Conv`."""
    text = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_")[:120] or absent
    if text[0].isdigit() or keyword.iskeyword(text) or text in ("rlx", "np"):
        text = f"v{text}" if text[0].isdigit() else f"{text}_"
    return text


def renamed(module: Module, names: Mapping[str, str]) -> Module:
    """The module with the definitions and uses of some values renamed."""

    def new(name: str) -> str:
        return names.get(name, name)

    return replace(
        module,
        inputs=tuple(replace(value, name=new(value.name)) for value in module.inputs),
        constants=tuple(replace(constant, name=new(constant.name)) for constant in module.constants),
        nodes=tuple(
            replace(
                node,
                operands=tuple(None if name is None else new(name) for name in node.operands),
                results=tuple(replace(result, name=new(result.name)) for result in node.results),
            )
            for node in module.nodes
        ),
        outputs=tuple(replace(output, value=new(output.value)) for output in module.outputs),
    )
