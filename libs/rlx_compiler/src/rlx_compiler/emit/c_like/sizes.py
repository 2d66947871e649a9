"""`rlx_model.h`: what a firmware must set aside for a model, as constants that its compiler knows."""

from __future__ import annotations

import re
from typing import Final

from rlx_base.dtypes import STRING
from rlx_compiler.emit.c_like.dialect import Dialect
from rlx_compiler.loops.program import Port, Program

__all__ = ["MODEL_HEADER", "model_header"]

MODEL_HEADER: Final = "rlx_model.h"


def model_header(program: Program, dialect: Dialect) -> str:
    """Sizes of weights and workspace, and of each input and output with its place in `rlx_call` and its C type.

    A tensor with a symbolic dimension has no size here.
    """
    lines = [
        f"/* What the model {program.name} needs of its caller. All memory is the caller's, on 64-byte boundaries. */",
        "#ifndef RLX_MODEL_H",
        "#define RLX_MODEL_H",
        f"#define RLX_WEIGHTS_BYTES {program.weights_bytes}",
        f"#define RLX_WORKSPACE_BYTES {program.workspace_bytes}",
        f"#define RLX_KERNELS {len(program.launches)}",
    ]
    for kind, ports in (("INPUT", program.inputs), ("OUTPUT", program.outputs)):
        lines += ["", f"#define RLX_{kind}S {len(ports)}"]
        for place, port in enumerate(ports):
            lines += _port(f"RLX_{kind}_{re.sub(r'[^A-Za-z0-9]', '_', port.name)}", place, port, dialect)
    return "\n".join([*lines, "#endif", ""])


def _port(name: str, place: int, port: Port, dialect: Dialect) -> list[str]:
    shape = " × ".join(map(str, port.shape)) or "scalar"
    lines = [f"/* {shape} */", f"#define {name} {place}"]
    if port.dtype == STRING:  # the host's alone
        return lines
    lines.append(f"#define {name}_TYPE {dialect.scalar(port.dtype)}")
    count = 1
    for dim in port.shape:
        if not isinstance(dim, int):
            return lines
        count *= dim
    return [*lines, f"#define {name}_ELEMENTS {count}"]
