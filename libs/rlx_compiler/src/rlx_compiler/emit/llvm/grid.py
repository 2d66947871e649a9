"""A program for a GPU as LLVM IR: kernels that a runtime launches, and the functions that they call."""

from __future__ import annotations

from rlx_base.dtypes import INT32
from rlx_compiler.emit.llvm.entry import kernel_symbol
from rlx_compiler.emit.llvm.gpu import Gpu
from rlx_compiler.emit.llvm.types import value_type
from rlx_compiler.emit.llvm.writer import LlvmWriter
from rlx_compiler.emit.spelling import Value
from rlx_compiler.emit.writer import BLOCK, THREAD
from rlx_compiler.loops.ir import Kernel
from rlx_compiler.loops.program import Program
from rlx_compiler.math import Function
from rlx_compiler.targets.spec import TargetSpec

__all__ = ["emit_grid"]


def emit_grid(program: Program, spec: TargetSpec, gpu: Gpu) -> str:
    """The text of one module with all kernels."""
    module = _Module(program, spec, gpu)
    texts = [module.kernel(kernel) for kernel in program.kernels]
    done: set[str] = set()
    while pending := sorted(module.functions.keys() - done):
        for name in pending:
            texts.append(module.function(module.functions[name]))
            done.add(name)
    lines = [
        f'source_filename = "{program.name}"',
        f'target triple = "{gpu.triple}"',
        "",
        *module.outside,
        "",
        *texts,
        *sorted(module.intrinsics),
        "",
        'attributes #0 = { nounwind "no-builtins" }',
        "!0 = !{}",
        gpu.flags,
        "",
    ]
    return "\n".join(lines)


class _Module:
    def __init__(self, program: Program, spec: TargetSpec, gpu: Gpu) -> None:
        self.program, self.spec, self.gpu = program, spec, gpu
        self.functions: dict[str, Function] = {}
        self.intrinsics: set[str] = set()
        self.outside: list[str] = []

    def kernel(self, kernel: Kernel) -> str:
        """A kernel takes its buffers alone; it asks the device which thread of which block runs it."""
        gpu, grid, symbol = self.gpu, kernel.grid, kernel_symbol(kernel.name)
        assert grid is not None, "a kernel without a grid"
        writer = LlvmWriter(self.spec, self.program.dims, gpu, symbol)
        self.intrinsics |= {f"declare i32 @{gpu.block}()", f"declare i32 @{gpu.thread}()"}
        writer.scope.values |= {BLOCK: Value("%block", INT32, 1), THREAD: Value("%thread", INT32, 1)}
        parameters = []
        for place, buffer in enumerate(kernel.params):
            writer.scope.buffers[buffer.name] = f"%p{place}"
            parameters.append(f"ptr addrspace(1) noalias align 16 %p{place}")
        writer.statements(kernel.body)
        self._take(writer)
        known = [
            f"  %block = call i32 @{gpu.block}()",
            f"  %thread = call i32 @{gpu.thread}()",
        ]
        head = f"define {gpu.kernel} void @{symbol}({', '.join(parameters)}) {gpu.limits(grid.threads)} {{"
        return "\n".join([head, "entry:", *writer.allocas, *known, *writer.lines, "  ret void", "}", ""])

    def function(self, function: Function) -> str:
        writer = LlvmWriter(self.spec, self.program.dims, self.gpu, function.name)
        parameters = []
        for place, parameter in enumerate(function.params):
            value = Value(f"%a{place}", parameter.dtype, 1)
            writer.scope.values[parameter.name] = value
            parameters.append(writer.typed(value))
        writer.statements(function.body)
        result = writer.value(function.result)
        self._take(writer)
        head = f"define internal {value_type(result.dtype)} @{function.name}({', '.join(parameters)}) #0 {{"
        last = f"  ret {writer.typed(result)}"
        return "\n".join([head, "entry:", *writer.allocas, *writer.lines, last, "}", ""])

    def _take(self, writer: LlvmWriter) -> None:
        self.functions |= writer.called
        self.intrinsics |= writer.intrinsics
        self.outside += writer.outside
