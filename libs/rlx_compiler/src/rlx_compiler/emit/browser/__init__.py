"""The JavaScript beside a WebAssembly module: a loader that is the same for every model, and types of this one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Final

from rlx_compiler.loops.program import Port, Program
from rlx_wire.abi import call_layout

__all__ = ["LOADER", "TYPES", "loader", "types"]

LOADER: Final = "rlx.js"
TYPES: Final = "rlx.d.ts"

# The typed array that holds the elements of a dtype; float16 as its bits.
_ARRAYS: Final[Mapping[str, str]] = {
    "bool": "Uint8Array",
    "float16": "Uint16Array",
    "float32": "Float32Array",
    "float64": "Float64Array",
    "int64": "BigInt64Array",
    "uint64": "BigUint64Array",
    **{
        f"{kind}{bits}": f"{name}{bits}Array"
        for kind, name in (("int", "Int"), ("uint", "Uint"))
        for bits in (8, 16, 32)
    },
}


def loader() -> str:
    """The text of `rlx.js`."""
    layout = call_layout(pointer_bytes=4)
    table = json.dumps({"size": layout.size, "offsets": dict(layout.offsets)})
    text = files(__name__).joinpath(LOADER).read_text(encoding="utf-8")
    return text.replace("const CALL = {};", f"const CALL = {table};")


def types(program: Program) -> str:
    """The text of `rlx.d.ts`: the loader's functions, with the inputs and outputs of this program by name."""
    return f"""\
// The model {json.dumps(program.name)} as `rlx.js` runs it.

export interface Inputs {{
{_members(program.inputs)}}}

export interface Outputs {{
{_members(program.outputs)}}}

export interface Tensor {{
  readonly name: string;
  readonly dtype: string;
  readonly shape: readonly (number | string)[];
}}

export declare class Model {{
  private constructor();
  readonly inputs: readonly Tensor[];
  readonly outputs: readonly Tensor[];
  /** One inference on row-major arrays. Throws TypeError or RangeError for arrays that are not the model's. */
  run(arrays: Inputs): Outputs;
}}

/** Loads the bundle in the folder `base`, which is this file's own where none is named. */
export declare function load(base?: string | URL): Promise<Model>;
"""


def _members(ports: tuple[Port, ...]) -> str:
    lines = []
    for port in ports:
        shape = " × ".join(map(str, port.shape)) or "scalar"
        lines.append(f"  /** {port.dtype.name}, {shape} */\n  {json.dumps(port.name)}: {_ARRAYS[port.dtype.name]};\n")
    return "".join(lines)
