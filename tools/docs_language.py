"""The documentation of the language that the code writes: ops, constants, limits, errors."""

from __future__ import annotations

import dataclasses
import inspect
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from rlx.language import names
from rlx.tracing.functions import FUNCTIONS as TRACED
from rlx.tracing.ufuncs import UFUNCS
from rlx_base.dtypes import DTYPES
from rlx_base.error_table import TABLE
from rlx_base.errors import RlxError
from rlx_ir.affinity import COHERENCES, LOCATIONS
from rlx_ir.constants.functions import FUNCTIONS
from rlx_ir.op import OPS, Op
from rlx_ir.schedule import DIMENSIONS
from rlx_ir.text.calls import LATER
from rlx_ir.text.lexing import DEFAULT_LIMITS
from tools.stubs import type_name

__all__ = ["constants", "dtypes", "errors", "later", "limits", "locations", "numpy_functions", "operators", "ops"]


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def ops() -> str:
    """Every op: what it means, what it takes, its attributes with their defaults."""
    families: dict[str, list[type[Op]]] = defaultdict(list)
    for name in names():
        if name in OPS:
            families[OPS[name].__module__.rpartition(".")[2]].append(OPS[name])
    parts = [
        "# Ops\n",
        "Each op also takes the [schedule attributes](language.md#how-schedules) and, for its result, `layout`, "
        "`memory_affinity` and `location`. A `?` marks an operand that may be left out, a `*` one that may be any "
        "number. *Atomic* ops are never split between devices.\n",
    ]
    for family in sorted(families):
        parts.append(f"## {family.replace('_', ' ').capitalize()}\n")
        parts += [_op(op) for op in families[family]]
    return "\n".join(parts)


def _op(op: type[Op]) -> str:
    text = inspect.cleandoc(op.__doc__ or "").strip()
    rows = [
        (f"`{field.name}`", f"`{type_name(op, field.name).replace(' | ', ' or ')}`", _default(field))
        for field in dataclasses.fields(op)
    ]  # type: ignore[arg-type]
    attributes = f"\n{table(('attribute', 'type', 'default'), rows)}\n" if rows else ""
    atomic = "" if op.splittable else " *Atomic.*"
    results = "" if op.results == ("output",) else f" → {', '.join(op.results)}"
    signature = f"rlx.{op.name}({', '.join(op.operands)}){results}"
    return f"### {op.name}\n\n`{signature}` · version {op.version}{atomic}\n\n{text}\n{attributes}"


def _default(field: dataclasses.Field[Any]) -> str:
    return "required" if field.default is dataclasses.MISSING else f"`{field.default!r}`"


def constants() -> str:
    rows = []
    for function in FUNCTIONS.values():
        parameters = ", ".join(
            ("*" if one.kind == "sizes" else "") + one.name + ("" if one.required else "=…")
            for one in function.parameters
        )
        rows.append((f"`{function.name}({parameters})`", "random, frozen" if function.random else ""))
    return table(("function", ""), rows)


def dtypes() -> str:
    rows = (
        (f"`{dtype}`", dtype.bits, "yes" if dtype.numpy is not None else "not yet: for weights")
        for dtype in DTYPES.values()
    )
    return table(("dtype", "bits", "runs"), rows)


def limits() -> str:
    names = [field.name for field in dataclasses.fields(DEFAULT_LIMITS)]
    rows = ((name.replace("_", " "), f"{getattr(DEFAULT_LIMITS, name):,}") for name in names)
    return table(("limit of a text", "at most"), rows)


def locations() -> str:
    return (
        f"Locations: {', '.join(f'`{name}`' for name in LOCATIONS)}. Coherence: "
        f"{', '.join(f'`{name}`' for name in COHERENCES)}. Dimensions of a schedule: "
        f"{', '.join(f'`{name}`' for name in DIMENSIONS)}."
    )


def operators() -> str:
    from rlx_ir.text import operators as table_of

    symbols = {"Add": "+", "Sub": "-", "Mult": "*", "Div": "/", "MatMult": "@", "Pow": "**", "Mod": "%"}
    symbols |= {"Eq": "==", "NotEq": "!=", "Lt": "<", "LtE": "<=", "Gt": ">", "GtE": ">="}
    binary = {kind.__name__: op for kind, op in (*table_of._BINARY.items(), *table_of._COMPARISONS.items())}
    rows = [(f"`a {symbols[kind]} b`", f"[{op}](ops.md#{op})") for kind, op in binary.items()]
    rows += [("`-x`", "[neg](ops.md#neg)"), ("`abs(x)`", "[abs](ops.md#abs)")]
    rows += [(f"`x.{method}(…)`", f"[{op}](ops.md#{op})") for method, op in table_of._REDUCTIONS.items()]
    rows += [
        ("`x.reshape(…)`, `x.transpose(…)`, `x.astype(…)`", "reshape, transpose, cast"),
        ("`x[1, 2:, None]`", "slice, squeeze, unsqueeze"),
    ]
    return table(("written", "is"), rows)


def later() -> str:
    return ", ".join(f"`rlx.{name}`" for name in sorted(LATER))


def numpy_functions() -> str:
    elementwise = ", ".join(f"`{ufunc.__name__}`" for ufunc in UFUNCS)
    whole = ", ".join(sorted({f"`{function.__name__}`" for function in TRACED}))
    return f"Elementwise: {elementwise}.\n\nOn whole arrays: {whole}."


def errors() -> str:
    """Every row of the error table, under the series that it belongs to."""
    parts = [
        "# Errors\n",
        "Every error has a code, one line that says what is wrong, and one that says what to do. HTTP answers carry "
        "the same code in an `application/problem+json` body. Words in braces are filled in.\n",
    ]
    for kind in sorted(RlxError.__subclasses__(), key=lambda kind: kind.series):
        rows = [row for row in TABLE.values() if row.code.startswith(kind.series)]
        parts.append(f"## {kind.series}xx · {inspect.cleandoc(kind.__doc__ or '')}\n")
        for row in rows:
            parts.append(
                f"### RLX-{row.code} {{ #RLX-{row.code} }}\n\n**{_plain(row.text)}**\n\n{_plain(row.help)}\n\n"
                f"HTTP status {row.status}, raised as `{kind.__name__}`.\n"
            )
    return "\n".join(parts)


def _plain(template: str) -> str:
    """A template as text: `{{` is a brace, and Markdown reads nothing into it."""
    text = template.replace("{{", "{").replace("}}", "}")
    for sign in ("\\", "*", "_", "<", "[", "`"):
        text = text.replace(sign, f"\\{sign}")
    return text
