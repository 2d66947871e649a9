"""A whole program as one C file: kernels, the functions they call, and `rlx_main`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

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

__all__ = ["HEADER", "emit", "function_texts"]

HEADER = "rlx_kernel.h"


def emit(program: Program, spec: TargetSpec, dialect: Dialect, about: str) -> Mapping[str, str]:
    """`kernel.c` and the header that it includes. `about` is the comment at its head."""
    vectors = VectorTypes(dialect)
    functions: dict[str, Function] = {}
    kernels = [_kernel(kernel, CWriter(spec, program.dims, dialect, vectors), functions) for kernel in program.kernels]
    texts = function_texts(functions, lambda: CWriter(spec, program.dims, dialect, vectors))
    lines = [
        f"/* {about} */",
        f'#include "{HEADER}"',
        "",
        *vectors.declarations(),
        "",
        *texts,
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
        parameter = writer.dialect.parameter.format(type=kind, name=f"p{place}", qualifier=qualifier, place=place)
        parameters.append(parameter)
    writer.statements(kernel.body)
    functions |= writer.called
    head = writer.dialect.kernel.format(name=kernel_symbol(kernel.name), parameters=", ".join(parameters))
    return "\n".join([f"{head} {{", *writer.finished(), "}", ""])


def function_texts(functions: Mapping[str, Function], writer: Callable[[], CWriter]) -> list[str]:
    """The functions that kernels call and those that they call in turn, each before the ones that call it."""
    known = dict(functions)
    texts: dict[str, str] = {}
    while pending := sorted(known.keys() - texts.keys()):
        for name in pending:
            text = _function(known[name], writer(), known)
            texts = {name: text} | texts
    return list(texts.values())


def _function(function: Function, writer: CWriter, functions: dict[str, Function]) -> str:
    dialect, parameters = writer.dialect, []
    for place, parameter in enumerate(function.params):
        writer.scope.values[parameter.name] = Value(f"a{place}", parameter.dtype, 1)
        parameters.append(dialect.argument.format(type=dialect.scalar(parameter.dtype), name=f"a{place}"))
    writer.statements(function.body)
    result = writer.value(function.result)
    result = writer.bound(result) if dialect.binds_results else result
    functions |= writer.called
    head = writer.dialect.function.format(
        name=function.name, result=writer.dialect.scalar(result.dtype), parameters=", ".join(parameters)
    )
    return "\n".join([f"{head} {{", *writer.finished(f"    return {result.text};"), "}", ""])
