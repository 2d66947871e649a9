"""Writes `rlx/__init__.pyi` from the ops: what editors and type checkers know of the language.

`python -m tools.stubs` writes it, `--check` says whether it is as the ops are. `make generated` runs it.
"""

from __future__ import annotations

import dataclasses
import inspect
import subprocess
import sys
import textwrap
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rlx.language import DECLARATIONS, names
from rlx_base.dtypes import DType
from rlx_ir.op import OPS, Op

STUB = Path(__file__).parent.parent / "libs/rlx/src/rlx/__init__.pyi"

HEAD = '''\
"""What editors and type checkers know of `rlx`. Written by `make generated` from the ops; not to be edited."""

from collections.abc import Mapping, Sequence
from typing import Any

from rlx.caching import CompileCache as CompileCache
from rlx.compiling import compile as compile
from rlx.dynamic import DynamicModel as DynamicModel
from rlx.loading import load as load
from rlx.modules import ModuleFunction as ModuleFunction
from rlx.modules import module as module
from rlx.serving import serve as serve
from rlx.tracing import JitFunction as JitFunction
from rlx.tracing import jit as jit
from rlx_base.errors import RlxError as RlxError
from rlx_compiler import CompileOptions as CompileOptions
from rlx_compiler import CompileResult as CompileResult
from rlx_ir import Module as Module
from rlx_runtime import InProcessModel as InProcessModel

# A value of the language: it has operators and a few methods, and is used inside a module only.
Value = Any
_Tile = Mapping[str, Mapping[str, int] | Sequence[int]]
_Schedule = Mapping[str, Any]
_Affinity = Mapping[str, str]

def tensor(
    *,
    shape: Sequence[int | str],
    dtype: str = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """Declares an input: `x = rlx.tensor(shape=[1, 3, "H", "W"], dtype="float32")`."""

def scalar(*, dtype: str = ..., memory_affinity: _Affinity = ..., location: str = ...) -> Value:
    """Declares an input of rank 0."""

def constant(
    *,
    value: Any = ...,
    file: str = ...,
    key: str = ...,
    dtype: str = ...,
    shape: Sequence[int] = ...,
    seed: int = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """Weights and numbers: literals, NumPy expressions, or a tensor of a safetensors file."""

def cond(pred: Value, then_module: ModuleFunction, else_module: ModuleFunction, *, args: Sequence[Value] = ...) -> Any:
    """One of two modules, as `pred` says."""
'''
STORAGE = "layout: str = ..., memory_affinity: _Affinity = ..., location: str = ..."
SCHEDULE = "tile_layout: _Tile = ..., compute_schedule: _Schedule = ..., memory_coalesce: _Schedule = ..."


def stub() -> str:
    """The text of the stub, as `ruff format` leaves it."""
    ops = [OPS[name] for name in names() if name in OPS and name not in DECLARATIONS]
    text = "\n".join((HEAD, *map(_op, ops)))
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(STUB), "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def _op(op: type[Op]) -> str:
    parameters = ", ".join(_parameters(op))
    result = "Value" if len(op.results) == 1 and not op.results[0].endswith("*") else "Any"
    return f"def {op.name}({parameters}) -> {result}:\n    {_documentation(op)}\n"


def _parameters(op: type[Op]) -> Iterator[str]:
    for operand in op.operands:
        name = operand.rstrip("?*")
        if operand.endswith("*"):
            yield f"*{name}: Value"
        else:
            yield f"{name}: Value | None = ..." if operand.endswith("?") else f"{name}: Value"
    if not op.operands or not op.operands[-1].endswith("*"):
        yield "*"
    hints = typing.get_type_hints(op)
    for field in dataclasses.fields(op):  # type: ignore[arg-type]
        needed = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        yield f"{field.name}: {_type(hints[field.name])}{'' if needed else ' = ...'}"
    yield SCHEDULE
    yield STORAGE


def type_name(op: type[Op], attribute: str) -> str:
    """The type of an op's attribute, as the stub writes it."""
    return _type(typing.get_type_hints(op)[attribute])


def _type(hint: Any) -> str:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return " | ".join(map(_type, arguments))
    if origin is tuple:
        return f"Sequence[{_type(arguments[0])}]"
    if origin is typing.Literal:
        return "str"
    if hint is type(None):
        return "None"
    return "str" if hint is DType else hint.__name__


def _documentation(op: type[Op]) -> str:
    text = inspect.cleandoc(op.__doc__ or "").replace("\\", "\\\\")
    return textwrap.indent(f'"""{text}{chr(10) if chr(10) in text else ""}"""', "    ").lstrip()


def main() -> int:
    text = stub()
    if "--check" in sys.argv:
        return int(STUB.read_text(encoding="utf-8") != text)
    STUB.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
