"""A whole program as one C file: kernels, the functions they call, and `rlx_main`."""

from __future__ import annotations

from collections.abc import Mapping

from rlx_base.dtypes import INDEX
from rlx_compiler.emit.c_like.dialect import Dialect
from rlx_compiler.emit.c_like.entry import entry, kernel_symbol
from rlx_compiler.emit.c_like.vectors import VectorTypes
from rlx_compiler.emit.c_like.writer import CWriter
from rlx_compiler.emit.spelling import Value
from rlx_compiler.emit.writer import THREAD, THREADS
from rlx_compiler.loops.ir import Kernel
from rlx_compiler.loops.program import Program
from rlx_compiler.math import Function
from rlx_compiler.targets.spec import TargetSpec
from rlx_wire.abi import header

__all__ = ["HEADER", "emit"]

HEADER = "rlx_kernel.h"


def emit(program: Program, spec: TargetSpec, dialect: Dialect, about: str) -> Mapping[str, str]:
    """`kernel.c` and the header that it includes. `about` is the comment at its head."""
    vectors = VectorTypes(dialect)
    functions: dict[str, Function] = {}
    kernels = [_kernel(kernel, CWriter(spec, program.dims, dialect, vectors), functions) for kernel in program.kernels]
    texts: dict[str, str] = {}
    # A function may call others, which then stand before it.
    while pending := sorted(functions.keys() - texts.keys()):
        for name in pending:
            text = _function(functions[name], CWriter(spec, program.dims, dialect, vectors), functions)
            texts = {name: text} | texts
    lines = [
        f"/* {about} */",
        f'#include "{HEADER}"',
        "",
        *vectors.declarations(),
        "",
        *texts.values(),
        *kernels,
        entry(program),
    ]
    return {"kernel.c": "\n".join(lines), HEADER: header()}


def _kernel(kernel: Kernel, writer: CWriter, functions: dict[str, Function]) -> str:
    """A kernel takes which thread of how many it is, the symbolic dims, and its buffers."""
    writer.scope.values |= {THREAD: Value("thread", INDEX, 1), THREADS: Value("threads", INDEX, 1)}
    parameters = ["int64_t thread", "int64_t threads", "const int64_t *dims"]
    for place, buffer in enumerate(kernel.params):
        writer.scope.buffers[buffer.name] = f"p{place}"
        qualifier = writer.dialect.constant if buffer.access == "read" else ""
        kind = writer.dialect.scalar(buffer.dtype)
        parameters.append(writer.dialect.parameter.format(type=kind, name=f"p{place}", qualifier=qualifier))
    writer.statements(kernel.body)
    functions |= writer.called
    head = writer.dialect.kernel.format(name=kernel_symbol(kernel.name), parameters=", ".join(parameters))
    return "\n".join([f"{head} {{", *writer.finished(), "}", ""])


def _function(function: Function, writer: CWriter, functions: dict[str, Function]) -> str:
    parameters = []
    for place, parameter in enumerate(function.params):
        writer.scope.values[parameter.name] = Value(f"a{place}", parameter.dtype, 1)
        parameters.append(f"{writer.dialect.scalar(parameter.dtype)} a{place}")
    writer.statements(function.body)
    result = writer.value(function.result)
    functions |= writer.called
    head = writer.dialect.function.format(
        name=function.name, result=writer.dialect.scalar(result.dtype), parameters=", ".join(parameters)
    )
    return "\n".join([f"{head} {{", *writer.finished(f"    return {result.text};"), "}", ""])
