"""A whole program as modules of LLVM IR: its kernels, the functions that they call, and `rlx_main`."""

from __future__ import annotations

from collections.abc import Mapping

from rlx_base.dtypes import INDEX
from rlx_compiler.emit.llvm.entry import declarations, entry, kernel_symbol
from rlx_compiler.emit.llvm.machine import Machine
from rlx_compiler.emit.llvm.types import value_type
from rlx_compiler.emit.llvm.writer import LlvmWriter
from rlx_compiler.emit.spelling import Value
from rlx_compiler.emit.writer import THREAD, THREADS
from rlx_compiler.loops.ir import Kernel
from rlx_compiler.loops.program import Program
from rlx_compiler.math import Function
from rlx_compiler.targets.spec import TargetSpec

__all__ = ["emit"]


def emit(program: Program, spec: TargetSpec, machine: Machine) -> Mapping[str, str]:
    """`kernel.ll`."""
    functions: dict[str, Function] = {}
    intrinsics: set[str] = set()
    texts = [_kernel(kernel, program, spec, functions, intrinsics) for kernel in program.kernels]
    done: set[str] = set()
    # A function may call others.
    while pending := sorted(functions.keys() - done):
        for name in pending:
            texts.append(_function(functions[name], program, spec, functions, intrinsics))
            done.add(name)
    lines = [
        f'source_filename = "{program.name}"',
        f'target triple = "{machine.triple}"',
        "",
        *texts,
        entry(program, machine),
        *sorted(intrinsics | declarations(machine)),
        "",
        _attributes(spec, machine),
        "!0 = !{}",
        *machine.flags(),
        "",
    ]
    return {"kernel.ll": "\n".join(lines)}


def _attributes(spec: TargetSpec, machine: Machine) -> str:
    # No builtins: a loop that copies stays a loop, since there is no libc to call.
    parts = ["nounwind", '"no-builtins"', f'"target-cpu"="{machine.cpu(spec)}"', machine.function]
    if tuning := machine.tuning(spec):
        parts.append(f'"tune-cpu"="{tuning}"')
    parts.append(f'"target-features"="{machine.features(spec)}"')
    return f"attributes #0 = {{ {' '.join(part for part in parts if part)} }}"


def _kernel(
    kernel: Kernel, program: Program, spec: TargetSpec, functions: dict[str, Function], intrinsics: set[str]
) -> str:
    """A kernel takes which thread of how many it is, the symbolic dims, and its buffers."""
    writer = LlvmWriter(spec, program.dims)
    writer.scope.values |= {THREAD: Value("%thread", INDEX, 1), THREADS: Value("%threads", INDEX, 1)}
    parameters = ["i64 %thread", "i64 %threads", "ptr noalias readonly %dims"]
    for place, buffer in enumerate(kernel.params):
        # Numbered, since a buffer's name need not be one in LLVM.
        writer.scope.buffers[buffer.name] = f"%p{place}"
        # Not `readonly`: with `noalias` it would make every load invariant, and a fence could not keep two apart.
        parameters.append(f"ptr noalias align 64 %p{place}")
    writer.statements(kernel.body)
    functions |= writer.called
    intrinsics |= writer.intrinsics
    header = f"define internal void @{kernel_symbol(kernel.name)}({', '.join(parameters)}) #0 {{"
    return "\n".join([header, "entry:", *writer.allocas, *writer.lines, "  ret void", "}", ""])


def _function(
    function: Function, program: Program, spec: TargetSpec, functions: dict[str, Function], intrinsics: set[str]
) -> str:
    writer = LlvmWriter(spec, program.dims)
    parameters = []
    for place, parameter in enumerate(function.params):
        value = Value(f"%a{place}", parameter.dtype, 1)
        writer.scope.values[parameter.name] = value
        parameters.append(writer.typed(value))
    writer.statements(function.body)
    result = writer.value(function.result)
    functions |= writer.called
    intrinsics |= writer.intrinsics
    kind = value_type(result.dtype)
    header = f"define internal {kind} @{function.name}({', '.join(parameters)}) #0 {{"
    return "\n".join([header, "entry:", *writer.allocas, *writer.lines, f"  ret {writer.typed(result)}", "}", ""])
